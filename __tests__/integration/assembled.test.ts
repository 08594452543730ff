import type { Generation, StubScript } from '../../lib/testing';
import { toJson } from '../../lib/testing';
import { finishFrame, normalForm, ROLE_FRAME, textFrame, USAGE_FRAME } from './frames';
import { CHAT, COMPLETIONS, errorOf, type Gateway, HI, startGateway } from './gateway';

type Json = Record<string, unknown>;

async function gatewayWith(script: StubScript): Promise<Gateway> {
  const gateway = await startGateway();
  gateway.fleet.script = { leg: 'decode', ...script };
  return gateway;
}

describe('the usage of an assembled answer', () => {
  const whole = [ROLE_FRAME, textFrame('a'), finishFrame()];
  const withUsage = (usage: unknown) => (frame: string) =>
    frame.replace(/\}$/, `,"usage":${JSON.stringify(usage)}}`);
  const counted = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };

  it.each([
    ['in a last frame without choices', [...whole, USAGE_FRAME]],
    ['null in every frame but the last', [...whole.map(withUsage(null)), USAGE_FRAME]],
    ['in every frame', [...whole.map(withUsage({ prompt_tokens: 3 })), USAGE_FRAME]],
    [
      'null again behind it',
      [...whole, USAGE_FRAME, withUsage(null)(USAGE_FRAME.replace(/,"usage".*/, '}'))],
    ],
  ])('is the last that is not null: %s', async (_name, frames) => {
    const gateway = await gatewayWith({ rawFrames: frames });
    const { usage } = JSON.parse((await gateway.post(CHAT, { messages: HI })).text) as Json;
    expect(usage).toEqual(counted);
    expect(await gateway.row()).toMatchObject({ input_len: 3, output_len: 4 });
  });
});

describe('what cannot be assembled', () => {
  const choice = (more: Json) =>
    JSON.stringify({ choices: [{ index: 0, delta: { content: 'a' }, finish_reason: null, ...more }] });

  it.each([
    ['a second choice', [textFrame('a'), choice({ index: 1 })]],
    ['a content that is no string', [choice({ delta: { content: { a: 1 } } })]],
    ['a tool call without an index', [choice({ delta: { tool_calls: [{ id: 'a' }] } })]],
    ['an event that is not JSON', [textFrame('a'), '{"choices":']],
    ['a list in place of a chunk', ['[1]']],
  ])('is 502, never a quiet drop: %s', async (_name, frames) => {
    const gateway = await gatewayWith({ rawFrames: [...frames, finishFrame()] });
    const reply = await gateway.post(CHAT, { messages: HI });
    expect(reply.status).toBe(502);
    expect(errorOf(reply)).toMatchObject({ type: 'decode', code: 'decode' });
    expect(await gateway.row()).toMatchObject({
      terminal: 'failed',
      reason: 'invalid_response',
      status: 502,
    });
  });

  it('is 502 where the answer is larger than max_response_bytes', async () => {
    const gateway = await startGateway({ file: { serving: { max_response_bytes: 2000 } } });
    gateway.fleet.script = { leg: 'decode', generation: { content: Array(60).fill('x'.repeat(50)) } };
    const reply = await gateway.post(CHAT, { messages: HI });
    expect(reply.status).toBe(502);
    expect(await gateway.row()).toMatchObject({ terminal: 'failed', reason: 'response_limit' });
  });

  it('is measured as a whole: quotes, names and all', async () => {
    const content = Array(60).fill('x'.repeat(50)) as string[];
    const answerWithin = async (bytes: number) => {
      const gateway = await startGateway({
        file: { serving: { max_response_bytes: bytes, max_attempts: 1 } },
      });
      gateway.fleet.script = { leg: 'decode', generation: { content } };
      return { reply: await gateway.post(CHAT, { messages: HI }), row: await gateway.row() };
    };
    const { length } = (await answerWithin(1e6)).reply.text;
    expect((await answerWithin(length)).reply.status).toBe(200);
    for (const bytes of [length - 1, length - 20, length - 100, length - 1000]) {
      const { reply, row } = await answerWithin(bytes);
      expect(errorOf(reply)).toMatchObject({ type: 'decode' });
      expect(row).toMatchObject({ status: 502, reason: 'response_limit' });
    }
  });

  it('is a 502 with a text of its own where the stream was cut', async () => {
    const gateway = await startGateway({ file: { serving: { max_attempts: 1 } } });
    for (const script of [
      { endAfterFrames: 3 },
      { earlyDone: 3 },
      { resetAfterFrames: 3 },
      { noFinish: true },
    ]) {
      gateway.fleet.script = { leg: 'decode', ...script };
      const reply = await gateway.post(CHAT, { messages: HI });
      expect(reply.status).toBe(502);
      expect(errorOf(reply)['type']).toBe('decode');
    }
    for (const row of await gateway.rowsOf(4)) {
      expect(row).toMatchObject({ terminal: 'failed', reason: 'engine_connection' });
    }
  });
});

describe('an assembled answer', () => {
  /** Members that an engine writes as null or [] in a whole answer, and that no stream carries. */
  function withoutEmpty(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(withoutEmpty);
    if (typeof value !== 'object' || value === null) return value;
    const kept = Object.entries(value).filter(
      ([key, member]) =>
        key === 'content' || (member !== null && !(Array.isArray(member) && member.length === 0)),
    );
    return Object.fromEntries(kept.map(([key, member]) => [key, withoutEmpty(member)]));
  }

  const call1 = { id: 'c1', name: 'f', argumentPieces: ['{"a":', '"\u4f60"', '}'] };
  const call2 = { id: 'c2', name: 'g', argumentPieces: ['{}'] };
  const GENERATIONS: [string, string, Generation, Json][] = [
    ['text', CHAT, { content: ['a', '\u4f60\n', '"b"'] }, {}],
    [
      'reasoning, then text',
      CHAT,
      { reasoning: ['r', 's'], content: ['a'], reasoningField: 'reasoning_content' },
      {},
    ],
    ['reasoning alone', CHAT, { reasoning: ['r', 's'] }, {}],
    ['a refusal', CHAT, { refusal: ['no', ', no'] }, {}],
    ['parallel tool calls', CHAT, { toolCalls: [call1, call2], interleaveToolCalls: true }, {}],
    ['text and a tool call', CHAT, { content: ['a'], toolCalls: [call1] }, {}],
    ['log probabilities', CHAT, { content: ['a', '\u{1f30a}'] }, { logprobs: true, top_logprobs: 2 }],
    ['token ids', CHAT, { content: ['a', 'b'] }, { return_token_ids: true }],
    ['a stop reason', CHAT, { content: ['a'], stopReason: 42, systemFingerprint: 'fp' }, {}],
    [
      'details of the usage',
      CHAT,
      { content: ['a'], usage: { prompt_tokens_details: { cached_tokens: 2 } } },
      {},
    ],
    ['a completion', COMPLETIONS, { content: ['a', 'b'], stopReason: 'x' }, {}],
    ['log probabilities of a completion', COMPLETIONS, { content: ['a', '\u00e9'] }, { logprobs: 2 }],
    ['token ids of a completion', COMPLETIONS, { content: ['a', 'b'] }, { return_token_ids: true }],
  ];

  it.each(GENERATIONS)(
    'is what the engine would have answered unstreamed: %s',
    async (_name, path, generation, more) => {
      const gateway = await gatewayWith({ generation });
      const input = path === CHAT ? { messages: HI } : { prompt: 'hi there' };
      const reply = await gateway.post(path, { ...input, ...more });
      const got = JSON.parse(reply.text) as Json;
      const decode = gateway.legsAt('d0')[0]!;
      const wanted = toJson(generation, {
        route: path === CHAT ? 'chat' : 'completions',
        requestId: decode.requestId,
        body: { model: 'example/model', ...input, ...more },
        created: got['created'] as number,
      });
      expect(withoutEmpty(got)).toEqual(withoutEmpty(JSON.parse(JSON.stringify(wanted))));
    },
  );

  it('keeps numbers and members that it does not know as the engine wrote them', async () => {
    const chunk = textFrame('a').replace('{', '{"x_big":1152921504606846977,"x":1.0,"y":"\\u00e9",');
    const gateway = await gatewayWith({
      rawBytes: Buffer.from(normalForm([ROLE_FRAME, chunk, finishFrame()])),
    });
    const { text } = await gateway.post(CHAT, { messages: HI });
    expect(text).toContain('"x_big":1152921504606846977');
    expect(text).toContain('"x":1.0');
    expect(text).toContain('"y":"\\u00e9"');
  });
});
