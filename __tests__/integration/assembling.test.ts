import type { Generation, StubScript } from '../../lib/testing';
import { toJson } from '../../lib/testing';
import { deltaFrame, finishFrame, normalForm, ROLE_FRAME, textFrame, USAGE_FRAME } from './frames';
import { CHAT, COMPLETIONS, choicesOf, errorOf, type Gateway, HI, startGateway } from './gateway';

type Json = Record<string, unknown>;

async function gatewayWith(script: StubScript): Promise<Gateway> {
  const gateway = await startGateway();
  gateway.fleet.script = { leg: 'decode', ...script };
  return gateway;
}

/** The message (chat) that these deltas assemble to, and the rest of the choice. */
async function assembled(frames: readonly string[], more: object = {}): Promise<Json & { message: Json }> {
  const gateway = await gatewayWith({ rawFrames: frames });
  const reply = await gateway.post(CHAT, { messages: HI, ...more });
  expect(reply.status).toBe(200);
  expect(reply.headers['content-type']).toBe('application/json');
  return choicesOf(reply)[0] as Json & { message: Json };
}

function call(index: number, more: Json): string {
  return deltaFrame({ tool_calls: [{ index, ...more }] });
}

describe('an assembled tool call', () => {
  it('takes fragments without an id by their index, in index order', async () => {
    const { message, finish_reason } = await assembled([
      ROLE_FRAME,
      call(1, { id: 'B', type: 'function', function: { name: 'g', arguments: '' } }),
      call(0, { id: 'A', type: 'function', function: { name: 'f', arguments: '' } }),
      call(0, { function: { arguments: '{"x":' } }),
      call(1, { function: { arguments: '{"y":2}' } }),
      call(0, { function: { arguments: '1}' } }),
      finishFrame('tool_calls'),
    ]);
    expect(message).toEqual({
      role: 'assistant',
      content: null,
      tool_calls: [
        { id: 'A', type: 'function', function: { name: 'f', arguments: '{"x":1}' } },
        { id: 'B', type: 'function', function: { name: 'g', arguments: '{"y":2}' } },
      ],
    });
    expect(finish_reason).toBe('tool_calls');
  });

  it('keeps one id and one type where every fragment repeats them', async () => {
    const again = (args: string) =>
      call(0, { id: 'call_1', type: 'function', function: { arguments: args } });
    const { message } = await assembled([
      ROLE_FRAME,
      call(0, { id: 'call_1', type: 'function', function: { name: 'f', arguments: '' } }),
      again('{"a"'),
      again(':'),
      again('1}'),
      finishFrame('tool_calls'),
    ]);
    expect(message['tool_calls']).toEqual([
      { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } },
    ]);
  });

  it.each([false, true])(
    'that the token limit cut stays cut, streamed or not (stream: %s)',
    async (stream) => {
      const args = ['{"city":', '"San Fr'];
      const plan = { id: 'call_1', name: 'f', argumentPieces: args };
      const gateway = await gatewayWith({ generation: { toolCalls: [plan], finishReason: 'length' } });
      const tools = [{ type: 'function', function: { name: 'f', parameters: {} } }];
      const reply = await gateway.post(CHAT, { messages: HI, tools, max_tokens: 16, stream });
      expect(reply.status).toBe(200);
      if (stream) {
        const pieces = [...reply.text.matchAll(/"arguments":"((?:[^"\\]|\\.)*)"/g)].map(([, piece]) => piece);
        expect(pieces.map((piece) => JSON.parse(`"${piece}"`) as string).join('')).toBe(args.join(''));
        expect(reply.text).toContain('"finish_reason":"length"');
      } else {
        expect(choicesOf(reply)[0]).toMatchObject({
          finish_reason: 'length',
          message: { content: null, tool_calls: [{ function: { arguments: args.join('') } }] },
        });
      }
    },
  );

  it('leaves content an empty string where the engine sent nothing but empty strings', async () => {
    const { message } = await assembled([ROLE_FRAME, textFrame(''), finishFrame()]);
    expect(message).toEqual({ role: 'assistant', content: '' });
  });
});

describe('an assembled text', () => {
  it('keeps reasoning and content of one delta apart, under the name that the engine uses', async () => {
    for (const name of ['reasoning', 'reasoning_content']) {
      const { message } = await assembled([
        ROLE_FRAME,
        deltaFrame({ [name]: 'r1', content: 'c1' }),
        deltaFrame({ [name]: 'r2' }),
        deltaFrame({ content: 'c2' }),
        finishFrame(),
      ]);
      expect(message).toEqual({ role: 'assistant', content: 'c1c2', [name]: 'r1r2' });
    }
  });

  it('has null content where there was only a refusal or only reasoning', async () => {
    for (const name of ['refusal', 'reasoning']) {
      const { message } = await assembled([ROLE_FRAME, deltaFrame({ [name]: 'no' }), finishFrame()]);
      expect(message).toEqual({ role: 'assistant', content: null, [name]: 'no' });
    }
  });

  it('puts together the older function call', async () => {
    const part = (piece: Json) => deltaFrame({ function_call: piece });
    const frames = [ROLE_FRAME, part({ name: 'f' }), part({ arguments: '{"a"' }), part({ arguments: ':1}' })];
    const { message } = await assembled([...frames, finishFrame('function_call')]);
    expect(message).toMatchObject({ content: null, function_call: { name: 'f', arguments: '{"a":1}' } });
  });

  it('has no replacement character where TCP cut a character', async () => {
    for (const script of [{ cutBytes: 1 }, { cutBytes: 5, pieces: 'one-write' }] as const) {
      const generation = { content: ['\u4f60\u597d', '\u{1f30a}', '\u00e9'] };
      const gateway = await gatewayWith({ ...script, generation });
      const reply = await gateway.post(CHAT, { messages: HI });
      expect(choicesOf(reply)[0]).toMatchObject({ message: { content: '\u4f60\u597d\u{1f30a}\u00e9' } });
    }
  });
});

describe('assembled log probabilities', () => {
  it('of a chat go on from chunk to chunk, content and refusal', async () => {
    const entry = (token: string) => ({ token, logprob: -1.5, bytes: [1], top_logprobs: [] });
    const chunk = (token: string, list: 'content' | 'refusal') =>
      deltaFrame({ [list]: token }, { logprobs: { [list]: [entry(token)] } });
    const { logprobs } = await assembled([
      ROLE_FRAME,
      ...['a', 'b', 'c'].map((token) => chunk(token, 'content')),
      chunk('d', 'refusal'),
      finishFrame(),
    ]);
    expect(logprobs).toEqual({ content: ['a', 'b', 'c'].map(entry), refusal: [entry('d')] });
  });

  it('of a completion go on in each of the four lists', async () => {
    const chunk = (token: string, at: number) =>
      JSON.stringify({
        id: 'c',
        object: 'text_completion',
        created: 1,
        model: 'example/model',
        choices: [
          {
            index: 0,
            text: token,
            finish_reason: at === 3 ? 'length' : null,
            logprobs: {
              tokens: [token],
              token_logprobs: [-at - 0.5],
              top_logprobs: [{ [token]: -at - 0.5 }],
              text_offset: [at],
            },
          },
        ],
      });
    const tokens = ['a', 'b', 'c', 'd'];
    const gateway = await gatewayWith({ rawFrames: tokens.map(chunk) });
    const [choice] = choicesOf(await gateway.post(COMPLETIONS, { prompt: 'hi', logprobs: 1 }));
    expect(choice).toMatchObject({
      text: 'abcd',
      finish_reason: 'length',
      logprobs: {
        tokens,
        token_logprobs: [-0.5, -1.5, -2.5, -3.5],
        top_logprobs: [{ a: -0.5 }, { b: -1.5 }, { c: -2.5 }, { d: -3.5 }],
        text_offset: [0, 1, 2, 3],
      },
    });
  });
});

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
