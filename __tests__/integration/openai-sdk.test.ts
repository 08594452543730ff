import OpenAI from 'openai';
import { until } from './gateway';
import { MODEL, start, TOOLS } from './sdk';

describe('the openai SDK', () => {
  it('gets a chat completion, with the request id of the router', async () => {
    const { gateway, client } = await start();
    const messages = [{ role: 'user' as const, content: 'Say nonce-sdk1' }];
    const answer = await client.chat.completions.create({ model: MODEL, messages });
    expect(answer.choices[0]?.message.content).toContain('nonce-sdk1');
    expect(answer.object).toBe('chat.completion');
    expect(answer.usage?.completion_tokens).toBeGreaterThan(0);
    const [row] = await gateway.rowsOf(1);
    expect(answer._request_id).toBe(row?.rid);
    expect(row).toMatchObject({
      terminal: 'completed',
      status: 200,
      stream: false,
      route: '/v1/chat/completions',
    });
  });

  it('iterates over a chat stream, with usage only where it asked for it', async () => {
    const { client } = await start();
    const body = { model: MODEL, messages: [{ role: 'user' as const, content: 'Say nonce-sdk2' }] };
    const read = async (more: { stream_options?: { include_usage: boolean } }) => {
      let text = '';
      let usages = 0;
      for await (const chunk of await client.chat.completions.create({ ...body, stream: true, ...more })) {
        text += chunk.choices[0]?.delta.content ?? '';
        if (chunk.usage) usages += 1;
      }
      return { text, usages };
    };
    const whole = await client.chat.completions.create(body);
    const text = whole.choices[0]?.message.content;
    expect(await read({})).toEqual({ text, usages: 0 });
    expect(await read({ stream_options: { include_usage: true } })).toEqual({ text, usages: 1 });
  });

  it('gets a text completion, streamed and not', async () => {
    const { client } = await start();
    const body = { model: MODEL, prompt: 'Say nonce-sdk3' };
    const whole = await client.completions.create(body);
    expect(whole.object).toBe('text_completion');
    expect(whole.choices[0]?.text).toContain('nonce-sdk3');
    const stream = await client.completions.create({ ...body, stream: true });
    let text = '';
    for await (const chunk of stream) text += chunk.choices[0]?.text ?? '';
    expect(text).toBe(whole.choices[0]?.text);
  });

  it('lists the one model', async () => {
    const { client } = await start();
    const models: string[] = [];
    for await (const model of client.models.list()) models.push(model.id);
    expect(models).toEqual([MODEL]);
  });

  it('is not disturbed by comments that the engine sends before and between its events', async () => {
    const { client, gateway } = await start();
    gateway.fleet.script = { leg: 'decode', comments: 3 };
    const stream = client.chat.completions.stream({
      model: MODEL,
      messages: [{ role: 'user', content: 'Say nonce-sdk4' }],
    });
    expect(await stream.finalContent()).toContain('nonce-sdk4');
  });
});

describe('tool calls through the openai SDK', () => {
  const toolCalls = [
    { id: 'call_a', name: 'weather', argumentPieces: ['{"note":', '"', 'Z\u00fcrich', '"}'] },
    { id: 'call_b', name: 'weather', argumentPieces: ['{"no', 'te":"Oslo"}'] },
  ];
  const wanted = [
    { id: 'call_a', type: 'function', function: { name: 'weather', arguments: '{"note":"Z\u00fcrich"}' } },
    { id: 'call_b', type: 'function', function: { name: 'weather', arguments: '{"note":"Oslo"}' } },
  ];
  const messages = [{ role: 'user' as const, content: 'weather?' }];

  it.each([false, true])(
    'accumulate from the relayed stream (interleaved: %s)',
    async (interleaveToolCalls) => {
      const { client, gateway } = await start();
      gateway.fleet.engine('d0').script = { generation: { toolCalls, interleaveToolCalls } };
      const stream = client.chat.completions.stream({ model: MODEL, messages, tools: TOOLS });
      const final = await stream.finalChatCompletion();
      expect(final.choices[0]?.message.tool_calls).toMatchObject(wanted);
      expect(final.choices[0]?.finish_reason).toBe('tool_calls');
    },
  );

  it('come whole in an answer that was not streamed, with null content', async () => {
    const { client, gateway } = await start();
    gateway.fleet.engine('d0').script = { generation: { toolCalls, interleaveToolCalls: true } };
    const answer = await client.chat.completions.create({ model: MODEL, messages, tools: TOOLS });
    expect(answer.choices[0]?.message.content).toBeNull();
    expect(answer.choices[0]?.message.tool_calls).toEqual(wanted);
  });

  it('are forced on the decode leg only', async () => {
    const { client, gateway } = await start();
    const body = { model: MODEL, messages, tools: TOOLS, tool_choice: 'required' as const };
    const answer = await client.chat.completions.create(body);
    expect(answer.choices[0]?.message.tool_calls?.[0]).toMatchObject({ function: { name: 'weather' } });
    const [prefill, decode] = gateway.legs;
    expect(prefill?.json).toMatchObject({ tool_choice: 'auto', tools: TOOLS });
    expect(decode?.json).toMatchObject({ tool_choice: 'required', tools: TOOLS });
  });
});

describe('an openai SDK client that leaves', () => {
  it('in mid-stream closes the decode leg, and the row says so', async () => {
    const { client, gateway } = await start();
    gateway.fleet.script = { leg: 'decode', hangAfterFrames: 3 };
    const stream = await client.chat.completions.create({
      model: MODEL,
      messages: [{ role: 'user', content: 'hi' }],
      stream: true,
    });
    for await (const chunk of stream) if (chunk.choices[0]?.delta.content) break;
    const decode = gateway.fleet.engine('d0');
    await until(() => decode.calls[0]?.closedEarly === true);
    const [row] = await gateway.rowsOf(1);
    expect(row).toMatchObject({
      terminal: 'cancelled',
      reason: 'client_closed',
      cancelled_phase: 'decode',
      status: 499,
      prefill_iid: 'p0',
      decode_iid: 'd0',
    });
    expect(gateway.legsAt('p0')[0]).toMatchObject({ responseEnded: true });
    expect(gateway.fleet.engines.map(({ inFlight }) => inFlight)).toEqual([0, 0]);
  });

  it.each([true, false])(
    'in the prefill closes the prefill leg; decode is never called (stream: %s)',
    async (stream) => {
      const { client, gateway } = await start();
      const abort = new AbortController();
      gateway.fleet.script = { leg: 'prefill', hang: true, onCall: () => setImmediate(() => abort.abort()) };
      const asked = client.chat.completions.create(
        { model: MODEL, messages: [{ role: 'user', content: 'hi' }], stream },
        { signal: abort.signal },
      );
      await expect(asked).rejects.toBeInstanceOf(OpenAI.APIUserAbortError);
      await until(() => gateway.legsAt('p0')[0]?.closedEarly === true);
      const [row] = await gateway.rowsOf(1);
      expect(row).toMatchObject({
        terminal: 'cancelled',
        cancelled_phase: 'prefill',
        status: 499,
        attempts: 1,
      });
      expect(gateway.legs.map(({ leg }) => leg)).toEqual(['prefill']);
    },
  );

  it('while an answer is assembled closes the decode leg', async () => {
    const { client, gateway } = await start();
    const abort = new AbortController();
    gateway.fleet.script = {
      leg: 'decode',
      hangAfterFrames: 3,
      onCall: () => setImmediate(() => abort.abort()),
    };
    const asked = client.chat.completions.create(
      { model: MODEL, messages: [{ role: 'user', content: 'hi' }] },
      { signal: abort.signal },
    );
    await expect(asked).rejects.toBeInstanceOf(OpenAI.APIUserAbortError);
    await until(() => gateway.legsAt('d0')[0]?.closedEarly === true);
    expect((await gateway.rowsOf(1))[0]).toMatchObject({ terminal: 'cancelled', cancelled_phase: 'decode' });
  });
});
