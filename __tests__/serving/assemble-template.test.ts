import fc from 'fast-check';
import { isStringBody } from '../../lib/json/raw-json';
import { assembler, assembleText, chat, text } from './assemble-helpers';

type Event = string | Buffer;

/** The answer, or the kind of the error, of both ways; they must agree. */
function outcomes(route: 'chat' | 'completion', events: readonly Event[]): string[] {
  return [true, false].map((template) => {
    try {
      const made = assembler(route, events, template);
      return JSON.stringify([
        Buffer.from(made.finish(), 'latin1').toString(),
        made.hasOutput,
        made.finishReason,
        made.usage,
      ]);
    } catch (error) {
      return String(error);
    }
  });
}

function expectSame(route: 'chat' | 'completion', events: readonly Event[]): void {
  const [fast, plain] = outcomes(route, events);
  expect(fast).toBe(plain);
}

/** An event like its neighbours whose content is put in as raw JSON. */
const raw = (body: string) => chat({ content: '@' }).replace('@', () => body);

describe('events that only look like their neighbours', () => {
  test.each([
    ['a bare quote and a member', '","tool_calls":[{"index":0,"id":"x"}],"a":"'],
    ['a bare quote and broken JSON', '"'],
    ['a finish reason', '"},"finish_reason":"stop","x":{"y":"'],
    ['a backslash at its end', 'a\\'],
    ['an unknown escape', 'a\\x'],
    ['a short unicode escape', '\\u12'],
    ['a unicode escape that is not hexadecimal', '\\u12g4'],
    ['a control character', 'a\u0001'],
    ['a line feed', 'a\nb'],
  ])('are parsed: %s', (_, body) => {
    expectSame('chat', [raw('a'), raw('b'), raw(body), raw('c')]);
  });

  test('do not lose what differs around the content', () => {
    const events = [
      chat({ role: 'assistant', content: 'a' }),
      chat({ content: 'b' }),
      chat({ content: 'c' }, { token_ids: [1] }),
      chat({ content: 'd' }, { token_ids: [1] }),
      chat({ content: 'e' }, { logprobs: { content: [{ token: 'e' }] } }),
      chat({ content: 'e' }, { logprobs: { content: [{ token: 'e' }] } }),
      chat({ content: 'f', reasoning: 'r' }),
      chat({ content: 'g', reasoning: 'r' }),
      chat({ content: 'h' }, {}, { usage: { n: 1 } }),
      chat({ content: 'i' }, {}, { usage: { n: 1 } }),
      chat({ content: 'j' }, {}, { usage: { n: 2 } }),
      chat({ content: 'k' }, { finish_reason: 'stop' }),
    ];
    const whole = assembleText('chat', events);
    expect(whole).toBe(assembleText('chat', events, false));
    expect(whole).toContain('"content":"abcdeefghijk","reasoning":"rr"');
    expect(whole).toContain('"token_ids":[1,1]');
    expect(whole).toContain('"logprobs":{"content":[{"token":"e"},{"token":"e"}]}');
    expect(whole).toContain('"usage":{"n":2}');
  });

  test('are parsed after an event that changed what the template would repeat', () => {
    const note = (value: string) => chat({ content: 'x' }, {}, { note: value });
    const events = [note('a'), note('a'), note('b'), note('a')];
    expect(assembleText('chat', events)).toContain('"note":"a"');
    expectSame('chat', events);
  });

  test('are refused when their bytes are not UTF-8', () => {
    const bad = Buffer.from(chat({ content: '\u00e9\u00e9' }), 'latin1');
    expect(() => assembler('chat', [raw('a'), raw('b'), bad])).toThrow('UTF-8');
  });

  test('may be shorter than the frame of their neighbours', () => {
    expectSame('chat', [raw('a'), raw('b'), '{"choices":[]}', raw('')]);
    const overlap = (s: string) => `{"choices":[{"delta":{"x":"${s}","content":"${s}"}}]}`;
    expectSame('chat', [overlap(''), '{"choices":[{"delta":{"content":""}}]}', overlap('a')]);
  });
});

test('empty content of the short way is no output', () => {
  const made = assembler('completion', [text('a'), text('')]);
  expect(made.hasOutput).toBe(true);
  expect(outcomes('chat', [chat({ content: '' }), chat({ content: '' })])[0]).toContain(',false,');
});

test('isStringBody agrees with JSON.parse', () => {
  const parts = fc.constantFrom(
    'a',
    '"',
    '\\',
    'u',
    '0',
    'd83d',
    '\\u00e9',
    '\\"',
    'n',
    'b',
    '/',
    '\n',
    '\u00ff',
    '\u001f',
    ' ',
    'G',
    '\\u',
  );
  fc.assert(
    fc.property(fc.array(parts, { maxLength: 8 }), (pieces) => {
      const body = pieces.join('');
      let valid = true;
      try {
        valid = typeof JSON.parse(`"${body}"`) === 'string';
      } catch {
        valid = false;
      }
      expect(isStringBody(body)).toBe(valid);
    }),
    { numRuns: 3000 },
  );
});

describe('the short way and the plain way agree byte for byte', () => {
  const content = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 6 }),
    fc.constantFrom('', '"', '\\', '\n', '\ud83d', '\ude00', '\u2028', '\u{1f40b}', '\u0000', '","x":"', '}'),
  );
  /** JSON text of a string, spelled as different serialisers spell it. */
  const spelled = fc.tuple(content, fc.boolean()).map(([value, ascii]) => {
    const json = JSON.stringify(value);
    return ascii
      ? json.replace(/[\u007f-\uffff]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`)
      : json;
  });
  const delta = fc.oneof(
    { weight: 6, arbitrary: spelled.map((s) => `{"content":${s}}`) },
    { weight: 1, arbitrary: spelled.map((s) => `{"role":"assistant","content":${s}}`) },
    { weight: 2, arbitrary: spelled.map((s) => `{"reasoning":${s}}`) },
    { weight: 1, arbitrary: fc.tuple(spelled, spelled).map(([a, b]) => `{"reasoning":${a},"content":${b}}`) },
    {
      weight: 2,
      arbitrary: fc
        .tuple(fc.nat(1), spelled)
        .map(([i, s]) => `{"tool_calls":[{"index":${i},"id":"c${i}","function":{"arguments":${s}}}]}`),
    },
    {
      weight: 1,
      arbitrary: fc.constantFrom('{}', 'null', '{"content":null}', '{"odd":[1]}', '{"odd":"x"}', '{"n":1}'),
    },
  );
  const plain = '"logprobs":null,"finish_reason":null';
  const rest = fc.oneof(
    { weight: 8, arbitrary: fc.constant(plain) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        '"logprobs":{"content":[{"logprob":-0.0}]}',
        '"token_ids":[12345678901234567890]',
        '"token_ids":[]',
        '"finish_reason":"stop"',
        '"mark":1',
        '"mark":2',
        '"logprobs":{"content":[]}',
      ),
    },
  );
  const top = fc.oneof(
    { weight: 8, arbitrary: fc.constant('') },
    {
      weight: 1,
      arbitrary: fc.constantFrom(',"usage":{"n":1}', ',"usage":{"n":2}', ',"usage":null', ',"x":5', ' '),
    },
  );
  const chatEvent = fc
    .tuple(delta, rest, top)
    .map(([d, r, t]) => `{"id":"i","choices":[{"index":0,"delta":${d},${r}}]${t}}`);
  const textEvent = fc
    .tuple(spelled, rest, top)
    .map(([s, r, t]) => `{"id":"i","choices":[{"index":0,"text":${s},${r}}]${t}}`);

  test('for chat', () => {
    fc.assert(
      fc.property(fc.array(chatEvent, { maxLength: 20 }), fc.boolean(), (events, asBytes) => {
        expectSame('chat', asBytes ? events.map((event) => Buffer.from(event)) : events);
      }),
      { numRuns: 1500 },
    );
  });

  test('for completions', () => {
    fc.assert(
      fc.property(fc.array(textEvent, { maxLength: 20 }), (events) => expectSame('completion', events)),
      { numRuns: 1000 },
    );
  });

  test('for events whose bytes were damaged', () => {
    const damage = fc.tuple(fc.nat(200), fc.constantFrom(...Buffer.from('"\\{}[],:a0 '), 0x80, 0xff));
    fc.assert(
      fc.property(spelled, spelled, damage, (a, b, [place, byte]) => {
        const event = (s: string) => Buffer.from(`{"choices":[{"index":0,"delta":{"content":${s}}}]}`);
        const damaged = event(b);
        damaged[place % damaged.length] = byte;
        expectSame('chat', [event(a), event(a), damaged, event(b)]);
      }),
      { numRuns: 1500 },
    );
  });

  test('and what is assembled is what the contents say', () => {
    fc.assert(
      fc.property(fc.array(content, { minLength: 1, maxLength: 30 }), (contents) => {
        const whole = assembleText(
          'completion',
          contents.map((value) => text(value)),
        );
        const { choices } = JSON.parse(whole) as { choices: [{ text: string }] };
        expect(choices[0].text).toBe(contents.join(''));
      }),
    );
  });
});
