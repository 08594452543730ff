import { Agent, request } from 'node:http';
import { type StubFleet, type StubFleetOptions, startStubFleet, toJson } from '../../lib/testing/index';
import { CHAT, COMPLETIONS, decodeBody, MESSAGES, PREFILL, parseSse, post, send } from './client';

const TOOLS = [{ type: 'function', function: { name: 'find', parameters: {} } }];

describe('the default generation', () => {
  let fleet: StubFleet;
  beforeAll(async () => {
    fleet = await startStubFleet({ prefill: 0, decode: 0, both: 1 });
  });
  afterAll(() => fleet.close());

  /** Puts a stream together again, by hand and only as far as the default generation goes. */
  async function both(path: string, body: object): Promise<{ streamed: unknown; whole: unknown }> {
    const sse = await post(fleet.engine('b0'), path, { ...body, stream: true });
    const whole = JSON.parse((await post(fleet.engine('b0'), path, body)).text) as {
      choices: {
        index: number;
        text?: string;
        message?: { content: string | null; tool_calls: { function: object }[] };
        finish_reason: string;
      }[];
    };
    const choices: { text: string; name: string; args: string; finish: string | null }[] = [];
    for (const payload of parseSse(sse.text).slice(0, -1)) {
      const frame = JSON.parse(payload) as { choices: (typeof whole.choices)[0][] };
      for (const choice of frame.choices as unknown as {
        index: number;
        text?: string;
        delta?: {
          content?: string;
          tool_calls?: [{ function: { name?: string; arguments?: string } }];
        };
        finish_reason: string | null;
      }[]) {
        choices[choice.index] ??= { text: '', name: '', args: '', finish: null };
        const into = choices[choice.index]!;
        const tool = choice.delta?.tool_calls?.[0].function;
        into.text += choice.text ?? choice.delta?.content ?? '';
        into.name += tool?.name ?? '';
        into.args += tool?.arguments ?? '';
        into.finish = choice.finish_reason ?? into.finish;
      }
    }
    const shaped = whole.choices.map((choice) => {
      const call = choice.message?.tool_calls[0]?.function as { name: string; arguments: string } | undefined;
      return {
        text: choice.text ?? choice.message?.content ?? '',
        name: call?.name ?? '',
        args: call?.arguments ?? '',
        finish: choice.finish_reason,
      };
    });
    return { streamed: choices, whole: shaped };
  }

  it.each<[string, object]>([
    [CHAT, { messages: MESSAGES }],
    [CHAT, { messages: MESSAGES, max_tokens: 3 }],
    [CHAT, { messages: MESSAGES, n: 2 }],
    [CHAT, { messages: MESSAGES, tools: TOOLS, tool_choice: 'required' }],
    [CHAT, { messages: MESSAGES, tools: TOOLS, tool_choice: 'required', max_completion_tokens: 2 }],
    [COMPLETIONS, { prompt: 'nonce-x1 and nonce-y2' }],
    [COMPLETIONS, { prompt: ['one', 'two', 'three'] }],
    [COMPLETIONS, { prompt: [[1, 2], [3]], echo: true }],
  ])('is the same streamed and whole: %s %j', async (path, body) => {
    const { streamed, whole } = await both(path, body);
    expect(streamed).toEqual(whole);
    fleet.assertNoBreaches();
  });

  it('repeats nonces, keeps to the limit, and calls the tool it must', async () => {
    const ask = async (body: object): Promise<Record<string, never[]>> =>
      JSON.parse((await post(fleet.engine('b0'), CHAT, { messages: MESSAGES, ...body })).text);
    const plain = JSON.stringify(await ask({}));
    expect(plain).toContain('nonce-abc7');
    expect(await ask({ max_completion_tokens: 2, max_tokens: 50 })).toMatchObject({
      choices: [{ finish_reason: 'length' }],
      usage: { completion_tokens: 2 },
    });
    const named = { type: 'function', function: { name: 'find' } };
    expect(await ask({ tools: TOOLS, tool_choice: named })).toMatchObject({
      choices: [{ finish_reason: 'stop', message: { tool_calls: [{ function: { name: 'find' } }] } }],
    });
    expect(await ask({ tools: TOOLS })).toMatchObject({ choices: [{ message: { tool_calls: [] } }] });
    const seeded = JSON.stringify([(await ask({ seed: 4 }))['choices'], (await ask({}))['choices']]);
    expect(seeded).toBe(JSON.stringify([JSON.parse(plain).choices, JSON.parse(plain).choices]));
  });

  it('answers what toJson says', async () => {
    const generation = { content: ['x'] };
    const own = await startStubFleet({ both: 1, prefill: 0, decode: 0, generate: () => generation });
    const body = { model: 'example/model', prompt: 'a b' };
    const reply = JSON.parse((await post(own.engine('b0'), COMPLETIONS, body)).text) as { created: number };
    const requestId = own.calls[0]!.requestId;
    const { created } = reply;
    expect(reply).toEqual(toJson(generation, { route: 'completions', requestId, body, created }));
    await own.close();
  });
});

describe('a fleet', () => {
  const started: StubFleet[] = [];
  const start = async (options: StubFleetOptions = {}): Promise<StubFleet> => {
    const fleet = await startStubFleet(options);
    started.push(fleet);
    return fleet;
  };
  // A fleet that a failed test leaves behind would keep the process alive.
  afterEach(async () => {
    await Promise.all(started.splice(0).map((fleet) => fleet.close()));
  });

  it('names its engines and writes a fleet object', async () => {
    const fleet = await start({ prefill: 2, decode: 1, both: 1, model: 'm1', prefix: '/a/b' });
    const iids = fleet.engines.map((engine) => [engine.iid, engine.role]);
    expect(iids).toEqual([
      ['p0', 'prefill'],
      ['p1', 'prefill'],
      ['d0', 'decode'],
      ['b0', 'both'],
    ]);
    expect(fleet.engine('d0').url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/a\/b$/);
    expect(() => fleet.engine('d9')).toThrow(RangeError);
    const file = fleet.fleetFile({ serving: { max_attempts: 3 }, slo: { ttft_s: 1 } });
    expect(file).toEqual({
      schema: 'narwhal.fleet',
      schema_version: 1,
      model: 'm1',
      engines: fleet.engines.map(({ iid, url, role }) => ({ iid, url, role })),
      serving: { max_attempts: 3 },
      slo: { ttft_s: 1 },
    });
    await fleet.close();
    await fleet.close();
  });

  it('serves the small endpoints, under its prefix only', async () => {
    const fleet = await start({ prefill: 0, prefix: '/a', maxModelLen: 77 });
    const { url } = fleet.engine('d0');
    const get = (path: string): Promise<{ status: number; text: string }> =>
      send(url + path, { method: 'GET' });
    expect(await get('/health')).toMatchObject({ status: 200, text: '' });
    expect(JSON.parse((await get('/v1/models')).text)).toMatchObject({
      object: 'list',
      data: [{ id: 'example/model', max_model_len: 77 }],
    });
    expect(JSON.parse((await get('/version')).text)).toHaveProperty('version');
    expect((await get('/metrics')).text).toContain('vllm:num_requests_running');
    const tokens = await post(fleet.engine('d0'), '/tokenize', { prompt: 'a b c' });
    expect(JSON.parse(tokens.text)).toMatchObject({ count: 3, max_model_len: 77, token_strs: null });
    expect((await send(`${url.replace('/a', '')}/health`, { method: 'GET' })).status).toBe(404);
    expect(fleet.calls.map((call) => call.leg)).toEqual([
      'health',
      'models',
      'other',
      'other',
      'tokenize',
      'other',
    ]);
  });

  it('says nothing of keep-alive, and keeps the connection', async () => {
    const fleet = await start({ prefill: 0, decode: 0, both: 1 });
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    for (let at = 0; at < 3; at += 1) {
      const reply = await post(fleet.engine('b0'), CHAT, { messages: MESSAGES }, { agent });
      expect(reply.headers).not.toHaveProperty('keep-alive');
      expect(reply.headers).not.toHaveProperty('connection');
    }
    expect(fleet.engine('b0').openSockets).toBe(1);
    agent.destroy();
  });

  it('closes idle connections after the time it was told', async () => {
    const fleet = await start({ prefill: 0, decode: 0, both: 1 });
    const engine = fleet.engine('b0');
    engine.setKeepAlive(5);
    const agent = new Agent({ keepAlive: true });
    await post(engine, CHAT, { messages: MESSAGES }, { agent });
    while (engine.openSockets > 0) await new Promise((resolve) => setTimeout(resolve, 5));
    agent.destroy();
  });

  it('stops an engine and starts it again as another process', async () => {
    const fleet = await start();
    const p0 = fleet.engine('p0');
    const { url, engineId } = p0;
    fleet.engine('p0').script = { hang: true };
    const cut = post(p0, CHAT, { messages: MESSAGES, ...PREFILL });
    while (p0.inFlight === 0) await new Promise(setImmediate);
    await p0.stop();
    expect(['ECONNRESET', 'EPIPE']).toContain((await cut).error);
    expect([p0.running, p0.openSockets, p0.inFlight]).toEqual([false, 0, 0]);
    expect((await post(p0, CHAT, {})).error).toBe('ECONNREFUSED');
    p0.script = undefined;
    await p0.start();
    expect([p0.url, p0.engineId === engineId]).toEqual([url, false]);
    await post(p0, CHAT, { messages: MESSAGES, ...PREFILL });
    expect(fleet.ledger.open[0]?.text).toContain(p0.engineId);
  });

  it.each([
    ['fail', 'InternalServerError'],
    ['recompute', 'nonce-abc7'],
  ] as const)('lets a decode leg %s whose producer went down', async (deadProducer, text) => {
    const fleet = await start({ deadProducer });
    await post(fleet.engine('p0'), CHAT, { messages: MESSAGES, ...PREFILL });
    const [handoff] = fleet.ledger.open;
    await fleet.engine('p0').stop();
    const reply = await post(fleet.engine('d0'), CHAT, decodeBody({ messages: MESSAGES }, handoff?.text));
    expect(reply.status).toBe(200);
    expect(reply.text).toContain(text);
    expect(parseSse(reply.text).at(-1)).toBe('[DONE]');
  });

  it('forgets', async () => {
    const fleet = await start();
    const headers = { 'x-request-id': 'one' };
    for (let at = 0; at < 2; at += 1) {
      await post(fleet.engine('p0'), CHAT, { messages: MESSAGES, ...PREFILL }, { headers });
      fleet.assertNoBreaches();
      expect([fleet.calls.length, fleet.engine('p0').calls.length, fleet.ledger.produced]).toEqual([1, 1, 1]);
      fleet.reset();
    }
  });

  it('listens on IPv6', async () => {
    const fleet = await start({ host: '::1', prefill: 0, decode: 0, both: 1 });
    expect(fleet.engine('b0').url).toMatch(/^http:\/\/\[::1\]:\d+$/);
    expect((await post(fleet.engine('b0'), CHAT, { messages: MESSAGES })).status).toBe(200);
  });

  it('notes a peer that left while it sent its body', async () => {
    const fleet = await start();
    const headers = { 'content-type': 'application/json', 'content-length': '1000' };
    const req = request(fleet.engine('p0').url + CHAT, { method: 'POST', headers, agent: false });
    req.on('error', () => undefined);
    req.write('{"messages":');
    while (fleet.engine('p0').inFlight === 0) await new Promise(setImmediate);
    req.destroy();
    while (fleet.calls.length === 0) await new Promise(setImmediate);
    expect(fleet.calls[0]).toMatchObject({ closedEarly: true, status: null });
  });
});
