import { Assembler, AssemblyError } from '../../lib/serving/assembling/assembler';
import {
  assemble,
  assembler,
  assembleText,
  CHAT_HEAD,
  chat,
  ROLE,
  TEXT_HEAD,
  text,
} from './assemble-helpers';

const USAGE = { prompt_tokens: 3, total_tokens: 5, completion_tokens: 2 };
const usageFrame = JSON.stringify({ ...CHAT_HEAD, choices: [], usage: USAGE });
const finish = chat({}, { finish_reason: 'stop', stop_reason: null });

describe('a chat answer', () => {
  test('has the members of the engine in the order of the engine', () => {
    const events = [ROLE, chat({ content: 'Hel' }), chat({ content: 'lo' }), finish, usageFrame];
    const message = { role: 'assistant', content: 'Hello' };
    const choices = [{ index: 0, message, logprobs: null, finish_reason: 'stop', stop_reason: null }];
    expect(assembleText('chat', events)).toBe(
      JSON.stringify({ ...CHAT_HEAD, object: 'chat.completion', choices, usage: USAGE }),
    );
  });

  test('is the same from strings and from bytes', () => {
    const events = [ROLE, chat({ content: '\u4f60' }), chat({ content: '\u{1f40b}\u2028' }), finish];
    expect(
      assembleText(
        'chat',
        events.map((event) => Buffer.from(event)),
      ),
    ).toBe(assembleText('chat', events));
    expect(assemble('chat', events).choices[0]!.message['content']).toBe('\u4f60\u{1f40b}\u2028');
  });

  test('keeps what else stands at the top, the last value that is not null', () => {
    const events = [
      chat({ content: 'a' }, {}, { prompt_token_ids: [1, 2], service_tier: null, extra: 'one' }),
      chat({ content: 'b' }, {}, { prompt_token_ids: null, extra: 'two' }),
      chat({}, { finish_reason: 'stop' }, { system_fingerprint: 'fp', extra: null }),
    ];
    expect(assemble('chat', events)).toMatchObject({
      prompt_token_ids: [1, 2],
      service_tier: null,
      extra: 'two',
      system_fingerprint: 'fp',
    });
  });

  test('keeps what else stands in the choice, and joins its token ids', () => {
    const events = [
      chat({ content: 'a' }, { token_ids: [1, 2], stop_reason: null }),
      chat({ content: 'b' }, { token_ids: [3], mark: [1] }),
      chat({}, { token_ids: null, mark: [2], finish_reason: 'stop', stop_reason: 128009 }),
    ];
    expect(assemble('chat', events).choices[0]).toMatchObject({
      token_ids: [1, 2, 3],
      mark: [2],
      finish_reason: 'stop',
      stop_reason: 128009,
    });
  });

  test('joins log probabilities of content and of a refusal, entry by entry', () => {
    const entry = (token: string) => ({ token, logprob: -0.25, bytes: [97], top_logprobs: [] });
    const events = [
      chat({ content: 'a' }, { logprobs: { content: [entry('a')], refusal: null } }),
      chat({ content: 'b' }, { logprobs: null }),
      chat({ content: 'b' }, { logprobs: { content: [entry('b'), entry('c')] } }),
      chat({}, { logprobs: { content: [], refusal: [entry('r')] } }),
      chat({ content: 'd' }, { logprobs: { content: [entry('d')] } }),
    ];
    expect(assemble('chat', events).choices[0]!['logprobs']).toEqual({
      content: ['a', 'b', 'c', 'd'].map(entry),
      refusal: [entry('r')],
    });
  });

  test('joins two choices of one chunk in their order', () => {
    const choices = [{ index: 0, delta: { content: 'a' } }, { delta: { content: 'b' } }];
    const one = JSON.stringify({ ...CHAT_HEAD, choices });
    expect(assemble('chat', [one, one]).choices[0]!.message['content']).toBe('abab');
  });

  test('accepts chunks without choices and deltas of null', () => {
    const bare = JSON.stringify({ ...CHAT_HEAD, choices: null });
    const events = [JSON.stringify(CHAT_HEAD), bare, chat(null), chat({ content: 'a' })];
    expect(assemble('chat', events).choices[0]!.message['content']).toBe('a');
  });
});

describe('a completion answer', () => {
  test('has its text, log probabilities and ids in order', () => {
    const logprobs = (token: string, at: number) => ({
      tokens: [token],
      token_logprobs: [-at],
      top_logprobs: [{ [token]: -at }],
      text_offset: [at],
    });
    const events = [
      text('Hi', {
        token_ids: [7],
        prompt_token_ids: [1, 2],
        logprobs: logprobs('Hi', 3),
        stop_reason: null,
      }),
      text(' you', { token_ids: [8, 9], prompt_token_ids: null, logprobs: logprobs(' you', 5) }),
      text('', { finish_reason: 'length', stop_reason: 'x', prompt_logprobs: [null] }),
    ];
    expect(assemble('completion', events)).toEqual({
      ...TEXT_HEAD,
      choices: [
        {
          index: 0,
          text: 'Hi you',
          logprobs: {
            tokens: ['Hi', ' you'],
            token_logprobs: [-3, -5],
            top_logprobs: [{ Hi: -3 }, { ' you': -5 }],
            text_offset: [3, 5],
          },
          finish_reason: 'length',
          stop_reason: 'x',
          token_ids: [7, 8, 9],
          prompt_token_ids: [1, 2],
          prompt_logprobs: [null],
        },
      ],
    });
  });

  test('has null top log probabilities where every chunk had null', () => {
    const logprobs = { tokens: ['a'], token_logprobs: [-1], top_logprobs: null, text_offset: [0] };
    const { choices } = assemble('completion', [text('a', { logprobs }), text('a', { logprobs })]);
    expect(choices[0]!['logprobs']).toEqual({
      tokens: ['a', 'a'],
      token_logprobs: [-1, -1],
      top_logprobs: null,
      text_offset: [0, 0],
    });
  });

  test('has an empty text where the engine sent none', () => {
    expect(assemble('completion', [text(null)]).choices[0]).toMatchObject({ text: '', logprobs: null });
    expect(assemble('completion', [text(undefined, { finish_reason: 'stop' })]).choices[0]).toMatchObject({
      text: '',
    });
  });
});

describe('what an assembler tells', () => {
  test('a role alone is no output', () => {
    expect(assembler('chat', []).hasOutput).toBe(false);
    expect(assembler('chat', [ROLE, ROLE, usageFrame]).hasOutput).toBe(false);
    expect(assembler('chat', [ROLE, chat({ content: 'a' })]).hasOutput).toBe(true);
    expect(assembler('completion', [text('')]).hasOutput).toBe(false);
    expect(assembler('completion', [text('a')]).hasOutput).toBe(true);
  });

  test('the finish reason is null until one came', () => {
    const made = assembler('chat', [ROLE]);
    expect(made.finishReason).toBeNull();
    made.add(chat({ content: 'a' }));
    expect(made.finishReason).toBeNull();
    made.add(chat({}, { finish_reason: 'tool_calls' }));
    made.add(chat({}));
    expect(made.finishReason).toBe('tool_calls');
  });

  test('usage is the last that was not null, with or without choices', () => {
    const made = assembler('chat', [chat({ content: 'a' }, {}, { usage: null })]);
    expect(made.usage).toBeNull();
    made.add(chat({ content: 'b' }, {}, { usage: { completion_tokens: 1 } }));
    made.add(chat({ content: 'c' }, {}, { usage: { completion_tokens: 2 } }));
    expect(made.usage).toEqual({ completion_tokens: 2 });
    made.add(chat({}, { finish_reason: 'stop' }, { usage: null }));
    made.add(usageFrame);
    expect(made.usage).toEqual(USAGE);
    expect(JSON.parse(Buffer.from(made.finish(), 'latin1').toString())).toMatchObject({ usage: USAGE });
  });

  test('usage is null where none came', () => {
    expect(assembler('chat', [ROLE]).usage).toBeNull();
    expect(assemble('chat', [ROLE])).not.toHaveProperty('usage');
  });
});

describe('nothing is rounded or spelled anew', () => {
  test('numbers keep their digits wherever they stand', () => {
    const raw =
      '{"id":"i","created":1.0,"big":12345678901234567890,"choices":[{"index":0,"seen":1e400,' +
      '"delta":{"content":"a","mark":9007199254740993},"logprobs":{"content":[{"logprob":-0.0}]}}],' +
      '"usage":{"n":18446744073709551615}}';
    expect(assembleText('chat', [raw])).toBe(
      '{"id":"i","object":"chat.completion","created":1.0,"choices":[{"index":0,' +
        '"message":{"role":"assistant","content":"a","mark":9007199254740993},' +
        '"logprobs":{"content":[{"logprob":-0.0}]},"finish_reason":null,"seen":1e400}],' +
        '"big":12345678901234567890,"usage":{"n":18446744073709551615}}',
    );
  });

  test('escapes stay, and a surrogate pair may be cut between two events', () => {
    const event = (body: string) => `{"choices":[{"index":0,"text":"${body}"}]}`;
    const events = ['\\u00e9\\/', 'x\\n\\"', '\\ud83d', '\\ude00', '\\\\'].map(event);
    const whole = assembleText('completion', events);
    expect(whole).toContain('"text":"\\u00e9\\/x\\n\\"\\ud83d\\ude00\\\\"');
    expect((JSON.parse(whole) as { choices: [{ text: string }] }).choices[0].text).toBe(
      '\u00e9/x\n"\u{1f600}\\',
    );
  });

  test('white space between members is accepted', () => {
    const spaced =
      ' { "id" : "i" , "choices" : [ { "index" : 0 , "delta" : { "content" : "a" , "t" : [ 1 , 2 ] } } ] , "n" : 5 }\n';
    expect(assemble('chat', [spaced, spaced])).toMatchObject({
      id: 'i',
      n: 5,
      choices: [{ message: { content: 'aa', t: [1, 2, 1, 2] } }],
    });
  });

  test('a key may be written with escapes, and of a repeated key the last value counts', () => {
    const raw =
      '{"choices":[{"index":0,"delta":{"content":"x","cont\\u0065nt":"a"}}],"caf\\u00e9":1,"caf\u00e9":2}';
    const answer = assemble('chat', [raw, raw]);
    expect(answer.choices[0]!.message).toEqual({ role: 'assistant', content: 'aa' });
    expect(answer).toMatchObject({ 'caf\u00e9': 2 });
  });

  test('a key named __proto__ is an ordinary key', () => {
    const proto = '"__proto__":{"polluted":true}';
    const raw = `{${proto},"choices":[{"index":0,${proto},"delta":{${proto},"content":"a"}}]}`;
    const whole = assembleText('chat', [raw, raw]);
    expect(whole.split(proto)).toHaveLength(4);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  test('deep nesting in a field that is kept does not overflow', () => {
    const deep = `${'['.repeat(20_000)}"]\\""${']'.repeat(20_000)}`;
    expect(assembleText('chat', [`{"deep":${deep},"choices":[{"index":0,"delta":{}}]}`])).toContain(
      `"deep":${deep}}`,
    );
  });
});

describe('the answer limit', () => {
  const sized = (maxBytes: number, events: readonly string[]) => {
    const made = new Assembler('chat', { maxBytes });
    for (const event of events) made.add(event);
    return made.finish();
  };
  const events = [
    ROLE,
    ...Array.from({ length: 50 }, () => chat({ content: 'abcdefgh' })),
    finish,
    usageFrame,
  ];
  const limitError = expect.objectContaining({ kind: 'limit' });

  test('lets an answer of just its size pass, and none that is larger', () => {
    const { length } = sized(1 << 20, events);
    expect(sized(length, events)).toHaveLength(length);
    expect(() => sized(length - 1, events)).toThrow(limitError);
  });

  test.each([
    ['content', () => chat({ content: 'x'.repeat(20) })],
    ['log probabilities', () => chat({}, { logprobs: { content: [{ token: 'x'.repeat(20) }] } })],
    ['empty tool calls', (i: number) => chat({ tool_calls: [{ index: i }] })],
    ['arguments', () => chat({ tool_calls: [{ index: 0, function: { arguments: 'x'.repeat(20) } }] })],
    ['fields of ever new names', (i: number) => chat({}, {}, { [`field-${i}`]: 'x'.repeat(20) })],
    ['fields of null of ever new names', (i: number) => chat({}, {}, { [`field-${i}`]: null })],
  ])('is met while %s come in, not only at the end', (_, event) => {
    const made = new Assembler('chat', { maxBytes: 500 });
    expect(() => {
      for (let i = 0; i < 1000; i++) made.add(event(i));
    }).toThrow(limitError);
  });

  test('counts a value that replaces another once', () => {
    const made = new Assembler('chat', { maxBytes: 1000 });
    for (let i = 0; i < 500; i++) made.add(chat({}, {}, { usage: { completion_tokens: i } }));
    expect(made.finish().length).toBeLessThan(1000);
  });

  test('is held by long texts of many pieces', () => {
    const made = new Assembler('completion', { maxBytes: 1 << 20 });
    const pieces = Array.from({ length: 9000 }, (_, i) => `piece ${i} \u00fc`);
    for (const piece of pieces) made.add(text(piece));
    const { choices } = JSON.parse(Buffer.from(made.finish(), 'latin1').toString()) as {
      choices: [{ text: string }];
    };
    expect(choices[0].text).toBe(pieces.join(''));
  });
});

describe('an event that cannot be merged without loss is an error', () => {
  const badChat = (choice: unknown) => JSON.stringify({ ...CHAT_HEAD, choices: [choice] });

  const MALFORMED: [string, string | Buffer][] = [
    ['that is not JSON', '{"choices":[}'],
    ['that is empty', ''],
    ['with something behind it', `${ROLE} x`],
    ['that is an array', '[]'],
    ['that is a text', '"x"'],
    ['that is null', 'null'],
    [
      'with bytes that are not UTF-8',
      Buffer.concat([Buffer.from(ROLE.slice(0, -1)), Buffer.from([0xff]), Buffer.from('}')]),
    ],
    ['with bytes that are not UTF-8 in its content', Buffer.from(chat({ content: '\u00e9' }), 'latin1')],
    ['with half a surrogate pair, unescaped', ROLE.replace('assistant', '\ud800')],
  ];
  const INVALID: [string, string | Buffer][] = [
    ['with choices that are no array', '{"choices":{}}'],
    ['with a choice that is no object', badChat('x')],
    ['with another choice index', badChat({ index: 1, delta: { content: 'a' } })],
    ['with a choice index that is no number', badChat({ index: '0', delta: { content: 'a' } })],
    ['with a delta that is no object', badChat({ index: 0, delta: 'a' })],
    ['with a whole message', badChat({ index: 0, message: { content: 'a' } })],
    ['with the text of the other route', badChat({ index: 0, text: 'a' })],
    ['with content in parts', chat({ content: [{ type: 'text', text: 'a' }] })],
    ['with reasoning that is no text', chat({ reasoning: 1 })],
    ['with a refusal that is no text', chat({ refusal: {} })],
    ['with another role', chat({ role: 'tool' })],
    ['with a finish reason that is no text', chat({}, { finish_reason: 1 })],
    ['with token ids that are no list', chat({}, { token_ids: 5 })],
    ['with token ids that are a text', chat({}, { token_ids: '5' })],
    ['with log probabilities that are a list', chat({}, { logprobs: [1] })],
    ['with usage that is no object', chat({}, {}, { usage: 5 })],
    ['that is an error', '{"error":{"message":"m"}}'],
    ['with tool calls that are no list', chat({ tool_calls: {} })],
    ['with a tool call that is no object', chat({ tool_calls: ['x'] })],
    ['with a tool call that is a list', chat({ tool_calls: [['index', 0]] })],
    ['with a tool call of null', chat({ tool_calls: [null, { index: 0 }] })],
    ['with a tool call without index', chat({ tool_calls: [{ id: 'a' }] })],
    ['with a tool call index below 0', chat({ tool_calls: [{ index: -1 }] })],
    ['with a tool call index of null', chat({ tool_calls: [{ index: null }] })],
    ['with a function that is no object', chat({ tool_calls: [{ index: 0, function: 'f' }] })],
    ['with arguments that are an object', chat({ tool_calls: [{ index: 0, function: { arguments: {} } }] })],
    ['with a function call that is no object', chat({ function_call: 'f' })],
  ];

  test.each([
    ...MALFORMED.map(([title, event]) => [title, event, 'malformed'] as const),
    ...INVALID.map(([title, event]) => [title, event, 'invalid'] as const),
  ])('%s', (_, event, kind) => {
    const made = assembler('chat', [ROLE, chat({ content: 'PROMPTWORD' })]);
    let error: unknown;
    try {
      made.add(event);
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toBeInstanceOf(AssemblyError);
    expect(error).toMatchObject({ kind, name: 'AssemblyError' });
    expect(String(error)).not.toMatch(/PROMPTWORD|assistant/);
    expect((error as Error).cause).toBeUndefined();
  });

  test('with a delta on the completion route', () => {
    expect(() => assemble('completion', [text('a'), chat({ content: 'b' })])).toThrow(AssemblyError);
    expect(() => assemble('completion', [text(5)])).toThrow(AssemblyError);
  });

  test('a stream without any choice has no answer', () => {
    expect(() => assemble('chat', [])).toThrow(AssemblyError);
    expect(() => assemble('chat', [usageFrame])).toThrow(expect.objectContaining({ kind: 'invalid' }));
  });
});
