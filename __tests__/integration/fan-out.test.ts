import type { StubCall } from '../../lib/testing';
import { parseEvents } from '../helpers/parse-sse';
import type { Reply } from '../testing/client';
import { CHAT, COMPLETIONS, choicesOf, errorOf, type Gateway, HI, startGateway, until } from './gateway';
import { StreamClient } from './stream-client';

interface Part {
  readonly index: number;
  readonly text: string;
  readonly finish_reason: string | null;
}

interface Answer {
  readonly id: string;
  readonly choices: Part[];
  readonly usage?: Record<string, number>;
}

function answerOf({ text }: Reply): Answer {
  return JSON.parse(text) as Answer;
}

function events({ text }: Reply): Answer[] {
  return parseEvents(text)
    .filter((payload) => payload !== '[DONE]')
    .map((payload) => JSON.parse(payload) as Answer);
}

function textOf(parts: readonly Answer[], index: number): string {
  return parts
    .flatMap(({ choices }) => choices)
    .filter((part) => part.index === index)
    .map((part) => part.text)
    .join('');
}

const LISTS: [string, unknown[], (index: number) => unknown][] = [
  ['texts', ['Say nonce-p0', 'Say nonce-p1', 'Say nonce-p2'], (index) => `Say nonce-p${index}`],
  ['token lists', [[1, 2], [3], [4, 5, 6]], (index) => [[1, 2], [3], [4, 5, 6]][index]],
];

/** What each part says when it is asked alone. */
async function alone(gateway: Gateway, prompts: readonly unknown[], more: object): Promise<string[]> {
  const answers = [];
  for (const prompt of prompts) answers.push(answerOf(await gateway.post(COMPLETIONS, { prompt, ...more })));
  return answers.map(({ choices }) => choices[0]!.text);
}

describe.each(LISTS)('a list of prompts given as %s', (_name, prompts, promptAt) => {
  it('is one two-leg request for each prompt, each with its own handoff and backend ids', async () => {
    const gateway = await startGateway({ stub: { prefill: 2, decode: 2 } });
    const reply = await gateway.post(COMPLETIONS, { prompt: prompts, seed: 1, max_tokens: 9 });
    expect(reply.status).toBe(200);
    const { rid } = await gateway.row();
    const legs = (leg: string): StubCall[] =>
      gateway.legs.filter((call) => call.leg === leg).sort((a, b) => a.requestId.localeCompare(b.requestId));
    for (const leg of ['prefill', 'decode']) {
      expect(legs(leg).map(({ requestId }) => requestId)).toEqual(
        [0, 1, 2].map((at) => `${rid}-a1-${leg}-${at}`),
      );
      expect(legs(leg).map(({ json }) => json?.['prompt'])).toEqual([0, 1, 2].map(promptAt));
    }
    expect(gateway.fleet.ledger).toMatchObject({ produced: 3, claimed: 3 });
  });

  it('is answered with the right index and summed usage', async () => {
    const gateway = await startGateway();
    const texts = await alone(gateway, prompts, {});
    const answer = answerOf(await gateway.post(COMPLETIONS, { prompt: prompts }));
    expect(answer.choices.map(({ index, text }) => [index, text])).toEqual(
      texts.map((text, at) => [at, text]),
    );
    const rows = await gateway.rowsOf(4);
    const sum = (name: 'input_len' | 'output_len') =>
      rows.slice(0, 3).reduce((all, row) => all + (row[name] ?? 0), 0);
    expect(answer.usage).toMatchObject({
      prompt_tokens: sum('input_len'),
      completion_tokens: sum('output_len'),
      total_tokens: sum('input_len') + sum('output_len'),
    });
    expect(answer.id).toBe(`cmpl-${rows[3]!.rid}`);
    expect(rows[3]).toMatchObject({
      terminal: 'completed',
      parts: 3,
      prefill_iid: 'p0',
      decode_iid: 'd0',
      attempts: 1,
      input_len: sum('input_len'),
      output_len: sum('output_len'),
    });
  });

  it('streams with the right index, one id, one [DONE], and usage only on demand', async () => {
    const gateway = await startGateway();
    const texts = await alone(gateway, prompts, {});
    for (const include_usage of [false, true]) {
      const stream_options = { include_usage };
      const reply = await gateway.post(COMPLETIONS, { prompt: prompts, stream: true, stream_options });
      const parts = events(reply);
      expect([0, 1, 2].map((at) => textOf(parts, at))).toEqual(texts);
      const ends = parts
        .flatMap(({ choices }) => choices)
        .filter(({ finish_reason }) => finish_reason !== null);
      expect(ends.map(({ index }) => index).sort()).toEqual([0, 1, 2]);
      expect(new Set(parts.map(({ id }) => id)).size).toBe(1);
      expect(reply.text.match(/\[DONE\]/g)).toHaveLength(1);
      const usages = parts.filter(({ usage }) => usage);
      expect(usages).toHaveLength(include_usage ? 1 : 0);
      const row = (await gateway.rowsOf(include_usage ? 5 : 4)).at(-1)!;
      expect(row).toMatchObject({ terminal: 'completed', parts: 3 });
      if (include_usage) {
        expect(parts.at(-1)).toMatchObject({
          choices: [],
          usage: { prompt_tokens: row.input_len, completion_tokens: row.output_len },
        });
      }
    }
  });
});

describe('a list of prompts', () => {
  it('of one prompt, and one prompt of token ids, are not fanned out', async () => {
    const gateway = await startGateway();
    for (const prompt of [['Say nonce-one'], [[1, 2]], [1, 2]]) {
      expect((await gateway.post(COMPLETIONS, { prompt })).status).toBe(200);
    }
    expect(gateway.legs).toHaveLength(6);
    expect((await gateway.rowsOf(3)).map(({ parts }) => parts)).toEqual([null, null, null]);
  });

  it('of 64 prompts is served and one of 65 refused', async () => {
    const gateway = await startGateway();
    const prompts = Array.from({ length: 65 }, (_, at) => `p${at}`);
    const served = await gateway.post(COMPLETIONS, { prompt: prompts.slice(1), max_tokens: 1 });
    expect(answerOf(served).choices.map(({ index }) => index)).toEqual([...Array(64).keys()]);
    const refused = await gateway.post(COMPLETIONS, { prompt: prompts });
    expect(refused.status).toBe(400);
    expect(errorOf(refused)).toMatchObject({ type: 'invalid_request_error', param: 'prompt' });
    expect(gateway.legs).toHaveLength(128);
    expect((await gateway.rowsOf(2)).map(({ terminal }) => terminal)).toEqual(['completed', 'invalid']);
  });

  it('takes one seat', async () => {
    const gateway = await startGateway({ file: { serving: { max_connections: 1 } } });
    expect((await gateway.post(COMPLETIONS, { prompt: ['a', 'b', 'c'] })).status).toBe(200);
  });

  const isFirst = ({ requestId }: StubCall): boolean => requestId.endsWith('-0');

  it.each([false, true])(
    'fails as a whole where one part fails before output (stream: %s)',
    async (stream) => {
      const gateway = await startGateway({ file: { serving: { max_attempts: 1 } } });
      gateway.fleet.script = (call) => {
        if (call.leg !== 'decode') return undefined;
        return isFirst(call) ? { status: 500 } : { hang: true };
      };
      const reply = await gateway.post(COMPLETIONS, { prompt: ['a', 'b'], stream });
      expect(reply.status).toBe(502);
      expect(errorOf(reply)).toMatchObject({ type: 'decode', code: 'decode' });
      expect(await gateway.row()).toMatchObject({ terminal: 'failed', reason: 'engine_error', parts: 2 });
      await until(() => gateway.fleet.engine('d0').inFlight === 0);
    },
  );

  it('fails with the refusal of the engine where one part is refused', async () => {
    const gateway = await startGateway();
    gateway.fleet.script = (call) => {
      if (call.leg !== 'decode') return undefined;
      const error = { message: 'bad', type: 'BadRequestError', param: 'x', code: 400 };
      return isFirst(call) ? { status: 400, body: { error } } : { hang: true };
    };
    const reply = await gateway.post(COMPLETIONS, { prompt: ['a', 'b'] });
    expect(reply.status).toBe(400);
    expect(errorOf(reply)).toMatchObject({ message: 'bad', param: 'x' });
    expect(await gateway.row()).toMatchObject({ terminal: 'invalid', reason: 'engine_refused' });
  });

  it('ends its stream with one error frame where one part fails after output', async () => {
    const gateway = await startGateway();
    gateway.fleet.script = (call) => {
      if (call.leg !== 'decode') return undefined;
      return isFirst(call) ? { resetAfterFrames: 2 } : { hangAfterFrames: 1 };
    };
    const reply = await gateway.post(COMPLETIONS, { prompt: ['a', 'b'], stream: true });
    expect(reply.status).toBe(200);
    expect(reply.error).toBeUndefined();
    const frames = parseEvents(reply.text);
    expect(JSON.parse(frames.at(-1)!)).toMatchObject({
      error: { type: 'decode', param: null, code: 'failed' },
    });
    expect(frames.filter((frame) => frame.includes('"error"'))).toHaveLength(1);
    expect(reply.text).not.toContain('[DONE]');
    expect(await gateway.row()).toMatchObject({
      terminal: 'failed',
      reason: 'engine_connection',
      status: 200,
    });
    await until(() => gateway.fleet.engine('d0').inFlight === 0);
  });

  it('retries a part alone, with a fresh prefill and backend ids of the second attempt', async () => {
    const gateway = await startGateway({ stub: { prefill: 2, decode: 2 } });
    gateway.fleet.script = (call) =>
      call.requestId.endsWith('-a1-decode-1') ? { leg: 'decode', status: 500 } : undefined;
    const reply = await gateway.post(COMPLETIONS, { prompt: ['a', 'b'] });
    expect(reply.status).toBe(200);
    const row = await gateway.row();
    expect(row).toMatchObject({ terminal: 'completed', attempts: 2, parts: 2 });
    expect(row.attempt_failures).toMatchObject([
      { attempt: 1, leg: 'decode', reason: 'engine_error', status: 500 },
    ]);
    const ids = gateway.legs.map(({ requestId }) => requestId.slice(row.rid.length)).sort();
    expect(ids).toEqual([
      '-a1-decode-0',
      '-a1-decode-1',
      '-a1-prefill-0',
      '-a1-prefill-1',
      '-a2-decode-1',
      '-a2-prefill-1',
    ]);
  });

  it('keeps at most max_attempts failures in its row', async () => {
    const gateway = await startGateway({ stub: { decode: 2 } });
    gateway.fleet.script = (call) => (call.requestId.includes('-a1-decode') ? { status: 500 } : undefined);
    const reply = await gateway.post(COMPLETIONS, { prompt: ['a', 'b', 'c', 'd'] });
    expect(reply.status).toBe(200);
    expect((await gateway.row()).attempt_failures).toHaveLength(2);
  });

  describe('whose answer has a limit', () => {
    const long = { content: Array<string>(14).fill('x'.repeat(1000)) };
    const file = { serving: { max_response_bytes: 20_000 } };

    it('may give most of it to one part', async () => {
      const gateway = await startGateway({ file });
      gateway.fleet.script = (call) =>
        call.leg === 'decode' && isFirst(call) ? { generation: long } : undefined;
      const reply = await gateway.post(COMPLETIONS, { prompt: ['a', 'b', 'c', 'd'], max_tokens: 99 });
      expect([reply.status, answerOf(reply).choices[0]?.text.length]).toEqual([200, 14_000]);
    });

    it('is 502 where the parts together are above it', async () => {
      const gateway = await startGateway({ file });
      gateway.fleet.script = { leg: 'decode', generation: long };
      const reply = await gateway.post(COMPLETIONS, { prompt: ['a', 'b'], max_tokens: 99 });
      expect(reply.status).toBe(502);
      expect(await gateway.row()).toMatchObject({ terminal: 'failed', reason: 'response_limit' });
    });

    it('counts no bytes of an attempt that was given up', async () => {
      const gateway = await startGateway({ file, stub: { prefill: 2, decode: 2 } });
      gateway.fleet.script = (call) => {
        if (call.leg !== 'decode' || !/-decode-0$/.test(call.requestId)) return undefined;
        return { generation: long, ...(call.requestId.includes('-a1-') && { resetAfterFrames: 14 }) };
      };
      const reply = await gateway.post(COMPLETIONS, { prompt: ['a', 'b'], max_tokens: 99 });
      expect([reply.status, answerOf(reply).choices[0]?.text.length]).toEqual([200, 14_000]);
      expect(await gateway.row()).toMatchObject({ attempts: 2 });
    });
  });

  it('holds every engine back while the client does not read', async () => {
    const gateway = await startGateway();
    gateway.fleet.script = { leg: 'decode', endless: { bytesPerFrame: 20_000, totalBytes: 30e6 } };
    const client = new StreamClient(gateway.url + COMPLETIONS, { prompt: ['a', 'b'], stream: true });
    await client.sees('xxx');
    client.pause();
    await until(() => gateway.legsAt('d0').filter(({ paused }) => paused).length === 2);
    let before = -1;
    const written = () => gateway.legsAt('d0').reduce((sum, { bytesWritten }) => sum + bytesWritten, 0);
    while (before !== written()) {
      before = written();
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    expect(written()).toBeLessThan(30e6);
    client.leave();
    expect(await gateway.row()).toMatchObject({ terminal: 'cancelled', parts: 2 });
  });

  it('has the first output of any part as its first byte', async () => {
    const gateway = await startGateway();
    gateway.fleet.script = (call) =>
      call.leg === 'decode' && isFirst(call) ? { frameDelayMs: 100 } : undefined;
    expect((await gateway.post(COMPLETIONS, { prompt: ['a', 'b'] })).status).toBe(200);
    const { first_byte_s, duration_s } = await gateway.row();
    // The slow part has its first frame after 100 ms and four more frames at least.
    expect(duration_s - (first_byte_s ?? 0)).toBeGreaterThan(0.4);
  });

  it('is cut in all its parts when the client leaves', async () => {
    const gateway = await startGateway();
    gateway.fleet.script = { leg: 'decode', hangAfterFrames: 1 };
    const client = new StreamClient(gateway.url + COMPLETIONS, { prompt: ['a', 'b', 'c'], stream: true });
    await until(() => gateway.legsAt('d0').length === 3);
    await client.sees('"text"');
    client.leave();
    await until(() => gateway.fleet.engine('d0').inFlight === 0);
    expect(gateway.legsAt('d0').map(({ closedEarly }) => closedEarly)).toEqual([true, true, true]);
    expect(await gateway.row()).toMatchObject({ terminal: 'cancelled', cancelled_phase: 'decode', parts: 3 });
  });
});

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

  it('is not meant by echo alone, by null, or by logprobs false', async () => {
    const gateway = await startGateway();
    for (const more of [{ echo: true }, { echo: true, logprobs: null }, { prompt_logprobs: null }]) {
      expect((await gateway.post(COMPLETIONS, { prompt: 'hi', ...more })).status).toBe(200);
    }
    expect(gateway.legs.map(({ leg }) => leg)).toEqual(Array(3).fill(['prefill', 'decode']).flat());
  });
});
