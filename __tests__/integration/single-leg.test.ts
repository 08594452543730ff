import { CHAT, COMPLETIONS, choicesOf, errorOf, HI, startGateway } from './gateway';

describe('an option that needs the logits of the whole prompt', () => {
  const OPTIONS: [string, object, string][] = [
    [COMPLETIONS, { prompt: 'hi there', prompt_logprobs: 0 }, 'prompt_logprobs'],
    [COMPLETIONS, { prompt: 'hi there', echo: true, logprobs: 0 }, 'echo'],
    [COMPLETIONS, { prompt: ['a', 'b'], echo: true, logprobs: 2 }, 'echo'],
    [CHAT, { messages: HI, prompt_logprobs: 1 }, 'prompt_logprobs'],
  ];

  it.each(OPTIONS)('on %s goes in one leg to an engine that does both: %j', async (path, body) => {
    const gateway = await startGateway({ stub: { both: 1 } });
    const reply = await gateway.post(path, body);
    expect(reply.status).toBe(200);
    expect(choicesOf(reply).length).toBeGreaterThan(0);
    expect(gateway.legs.map(({ engine, leg }) => [engine, leg])).toEqual([['b0', 'single']]);
    expect(gateway.legs[0]?.json).toMatchObject(body);
    expect(reply.text).toMatch('prompt_logprobs' in body ? /"prompt_logprobs":\[/ : /"tokens":\[/);
    expect(await gateway.row()).toMatchObject({
      prefill_iid: null,
      decode_iid: 'b0',
      crossed: false,
      kv: null,
    });
  });

  it.each(OPTIONS)(
    'on %s is 400 where the fleet has no such engine: %j names %s',
    async (path, body, field) => {
      const gateway = await startGateway();
      const reply = await gateway.post(path, body);
      expect(reply.status).toBe(400);
      expect(errorOf(reply)).toMatchObject({ type: 'invalid_request_error', param: field });
      expect(gateway.legs).toEqual([]);
      expect(await gateway.row()).toMatchObject({ terminal: 'invalid', reason: 'output_option' });
    },
  );

  describe('with a list of prompts, streamed in one leg', () => {
    const frame = (index: number, text: string, reason: string | null) =>
      JSON.stringify({
        id: 'cmpl-1',
        object: 'text_completion',
        choices: [{ index, text, logprobs: null, finish_reason: reason }],
      });
    const LIST = { prompt: ['a', 'b'], echo: true, logprobs: 1, stream: true };
    const first = [frame(0, 'one', null), frame(0, '.', 'stop')];

    it('is whole when every choice has ended', async () => {
      const gateway = await startGateway({ stub: { both: 1 } });
      gateway.fleet.script = { rawFrames: [...first, frame(1, 'two', 'stop')], noDone: true };
      const reply = await gateway.post(COMPLETIONS, LIST);
      expect(reply.text).toMatch(/data: \[DONE\]\n\n$/);
      expect(await gateway.row()).toMatchObject({ terminal: 'completed' });
    });

    it('is cut when one has not, though it stood beside one that has', async () => {
      const gateway = await startGateway({ stub: { both: 1 } });
      const choice = (index: number, reason: string | null) => ({ index, text: 'x', finish_reason: reason });
      const both = JSON.stringify({ id: 'cmpl-1', choices: [choice(0, 'stop'), choice(1, null)] });
      gateway.fleet.script = { rawFrames: [both], noDone: true };
      const reply = await gateway.post(COMPLETIONS, LIST);
      expect(reply.text).toMatch(/data: \{"error":/);
      expect(await gateway.row()).toMatchObject({ terminal: 'failed', reason: 'engine_connection' });
    });

    it('is cut when one has not', async () => {
      const gateway = await startGateway({ stub: { both: 1 } });
      gateway.fleet.script = { rawFrames: first, noDone: true };
      const reply = await gateway.post(COMPLETIONS, LIST);
      expect(reply.text).toMatch(/data: \{"error":/);
      expect(reply.text).not.toContain('[DONE]');
      expect(await gateway.row()).toMatchObject({ terminal: 'failed', reason: 'engine_connection' });
    });
  });

  it('is not meant by echo alone, by null, or by logprobs false', async () => {
    const gateway = await startGateway();
    for (const more of [{ echo: true }, { echo: true, logprobs: null }, { prompt_logprobs: null }]) {
      expect((await gateway.post(COMPLETIONS, { prompt: 'hi', ...more })).status).toBe(200);
    }
    expect(gateway.legs.map(({ leg }) => leg)).toEqual(Array(3).fill(['prefill', 'decode']).flat());
  });
});
