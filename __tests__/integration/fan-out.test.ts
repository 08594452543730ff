import type { StubCall } from '../../lib/testing';
import { parseEvents } from '../helpers/parse-sse';
import type { Reply } from '../testing/client';
import { COMPLETIONS, errorOf, type Gateway, startGateway } from './gateway';

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
});
