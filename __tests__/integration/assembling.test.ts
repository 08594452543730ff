import type { StubScript } from '../../lib/testing';
import { deltaFrame, finishFrame, ROLE_FRAME, textFrame } from './frames';
import { CHAT, COMPLETIONS, choicesOf, type Gateway, HI, startGateway } from './gateway';

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
