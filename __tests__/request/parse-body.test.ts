import fc from 'fast-check';
import { bodyFromValue, parseBody } from '../../lib/request/parse-body';
import { objectText, pieces, space } from '../json/json-text';
import { refusal } from './failure';

const SURROGATES = 'the request body must not contain unpaired surrogate escapes';
const NOT_JSON = 'the request body is not valid JSON';
const NOT_OBJECT = 'the request body must be a JSON object';

function parse(text: string) {
  return parseBody(Buffer.from(text));
}

describe('parseBody', () => {
  it('gives the value, the members and the very bytes it was given', () => {
    const bytes = Buffer.from(' {"model":"m1", "seed":990000000262240065}');
    const body = parseBody(bytes);
    expect(body.bytes).toBe(bytes);
    expect(body.value['model']).toBe('m1');
    expect(body.members.map(({ name }) => name)).toEqual(['model', 'seed']);
    const seed = body.members[1]!;
    expect(bytes.toString('utf8', seed.valueStart, seed.valueEnd)).toBe('990000000262240065');
  });

  it('takes every object without repeated keys', () => {
    fc.assert(
      fc.property(pieces, space, (parts, lead) => {
        const unique = parts.filter(({ name }, at) => parts.findIndex((part) => part.name === name) === at);
        const text = objectText(unique, lead);
        expect(parse(text).value).toEqual(JSON.parse(text));
      }),
    );
  });

  it('skips a byte order mark at the start, and only there', () => {
    const body = parse('\ufeff{"a":1}');
    expect(body.bytes.toString()).toBe('{"a":1}');
    expect(body.members[0]?.keyStart).toBe(1);
    expect(refusal(() => parse('{"a":1}\ufeff')).message).toBe(NOT_JSON);
    expect(refusal(() => parse('\ufeff\ufeff{}')).message).toBe(NOT_JSON);
    expect(refusal(() => parseBody(Buffer.from([0xef, 0xbb, 0x7b, 0x7d]))).outcome).toBe('badEncoding');
  });

  it.each([
    ['a byte that never occurs in UTF-8', [0xff]],
    ['a character cut in two', [0xe4, 0xbd]],
    ['half a surrogate pair in raw bytes', [0xed, 0xa0, 0xbd]],
    ['an overlong form', [0xc0, 0xaf]],
  ])('refuses %s', (_what, middle) => {
    const bytes = Buffer.concat([Buffer.from('{"prompt":"'), Buffer.from(middle), Buffer.from('"}')]);
    const error = refusal(() => parseBody(bytes));
    expect([error.outcome, error.status, error.message]).toEqual([
      'badEncoding',
      400,
      'the request body is not valid UTF-8',
    ]);
  });

  it.each([
    '',
    ' ',
    '{',
    '{"a":1',
    '{a:1}',
    '{"a":1}}',
    "{'a':1}",
    '{"a":NaN}',
    '{"a":1,}',
    '{"a":"\n"}',
    'x',
  ])('refuses %j as no JSON, and says nothing of what it holds', (text) => {
    const error = refusal(() => parse(text));
    expect([error.outcome, error.status, error.message]).toEqual(['badJson', 400, NOT_JSON]);
    expect(error.cause).toBeUndefined();
  });

  it.each(['null', 'true', '0', '"text"', '[]', '[{"model":"m1"}]'])(
    'refuses %s, which is no object',
    (text) => {
      const error = refusal(() => parse(text));
      expect([error.outcome, error.status, error.message]).toEqual(['badBodyShape', 400, NOT_OBJECT]);
    },
  );

  it.each([
    '{"model":"m1","model":"m2"}',
    '{"stream":false,"n":1,"stream":true}',
    '{"model":"m1","m\\u006fdel":"m2"}',
    '{"__proto__":1,"__proto__":2}',
  ])('refuses the repeated key in %s', (text) => {
    const error = refusal(() => parse(text));
    expect([error.outcome, error.message]).toEqual([
      'badBodyShape',
      'the request body must not repeat a top-level key',
    ]);
  });

  it('leaves repeated keys further down to the engine', () => {
    expect(parse('{"a":{"b":1,"b":2}}').members).toHaveLength(1);
  });

  it.each([
    '{"messages":[{"role":"user","content":"wave \\ud83d"}]}',
    '{"prompt":"\\udcf0"}',
    '{"prompt":"\\uD800\\uD800"}',
    '{"prompt":"\\udc00\\ud800"}',
    '{"prompt":"\\ud83d","suffix":"\\udc4b"}',
    '{"\\udfff":1}',
    '{"a":{"\\ud83dx":1}}',
    '{"prompt":"\\\\\\ud83d"}',
    '{"prompt":"\\ud83d\\\\udc4b"}',
    '{"prompt":"\\ud83d\\n"}',
    '{"prompt":"\\ud83d\\ue000"}',
    '{"prompt":"\\udbff\\udbff"}',
    '{"prompt":"\\ud83d\\udc4b\\ud83d"}',
  ])('refuses half a surrogate pair in %s', (text) => {
    const error = refusal(() => parse(text));
    expect([error.outcome, error.status, error.message]).toEqual(['badJson', 400, SURROGATES]);
  });

  it.each([
    '{"prompt":"\\ud83d\\udc4b"}',
    '{"prompt":"\\uD83D\\uDC4B\\uDBFF\\uDFFF\\ud800\\udc00"}',
    '{"prompt":"\u{1f44b}"}',
    '{"prompt":"\\\\ud83d"}',
    '{"prompt":"\\\\\\\\ud83d \\\\udcf0"}',
    '{"prompt":"\\ud7ff \\ue000 \\u0d83 \\ud55c\\uD000"}',
    '{"prompt":"ud83d \\u00e9"}',
    '{"prompt":"\\"\\ud83d\\udc4b\\""}',
  ])('takes %s, where every half has its other half', (text) => {
    expect(parse(text).bytes.toString()).toBe(text);
  });

  it('agrees with the decoded text about which halves stand alone', () => {
    const units = fc.array(
      fc.constantFrom(
        '\\ud83d',
        '\\uDC4B',
        '\\\\',
        '\\\\ud83d',
        'ud83d',
        '\\n',
        '\\u00e9',
        '\\"',
        'x',
        '\\ud7ff',
      ),
    );
    fc.assert(
      fc.property(units, (parts) => {
        const text = `{"prompt":"${parts.join('')}"}`;
        const { prompt } = JSON.parse(text) as { prompt: string };
        const wellFormed = !/\p{Surrogate}/u.test(prompt);
        if (wellFormed) expect(parse(text).value).toEqual({ prompt });
        else expect(refusal(() => parse(text)).message).toBe(SURROGATES);
      }),
      { numRuns: 500 },
    );
  });

  it('makes a __proto__ key an own member and leaves every prototype clean', () => {
    const { value } = parse('{"__proto__":{"isAdmin":true,"n":3},"messages":[{"__proto__":{"n":3}}]}');
    expect(Object.keys(value)).toEqual(['__proto__', 'messages']);
    expect(value['n']).toBeUndefined();
    expect(({} as Record<string, unknown>)['isAdmin']).toBeUndefined();
  });

  it('takes nesting deeper than any stack', () => {
    const deep = `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
    expect(parse(deep).bytes.length).toBe(deep.length);
  });
});

describe('bodyFromValue', () => {
  it('writes the value once and marks its members', () => {
    const value = { model: 'm1', messages: [{ content: '\u4f60' }], max_tokens: null };
    const body = bodyFromValue(value);
    expect(body.value).toBe(value);
    expect(body.bytes.toString()).toBe('{"model":"m1","messages":[{"content":"\u4f60"}],"max_tokens":null}');
    expect(body.members.map(({ name }) => name)).toEqual(['model', 'messages', 'max_tokens']);
  });

  it.each([[undefined], [null], [[]], ['{}'], [''], [0], [1], [false], [true], [1n], [() => ({})]])(
    'refuses %p, which is no object',
    (value) => {
      expect(refusal(() => bodyFromValue(value)).message).toBe(NOT_OBJECT);
    },
  );

  it('refuses half a surrogate pair in a value and in a key', () => {
    expect(refusal(() => bodyFromValue({ a: ['\ud83d'] })).message).toBe(SURROGATES);
    expect(refusal(() => bodyFromValue({ a: { '\udcf0': 1 } })).message).toBe(SURROGATES);
    expect(bodyFromValue({ a: '\u{1f44b} \\ud83d' }).members).toHaveLength(1);
  });

  it('refuses what JSON cannot write', () => {
    const cycle: Record<string, unknown> = {};
    cycle['self'] = cycle;
    let deep: unknown = null;
    for (let level = 0; level < 200_000; level++) deep = [deep];
    for (const value of [{ n: 1n }, cycle, { deep }]) {
      const error = refusal(() => bodyFromValue(value));
      expect([error.outcome, error.message]).toEqual(['badJson', NOT_JSON]);
    }
  });

  it('checks the text of an object that writes itself, because that text is what is sent', () => {
    const value = { model: 'looked at', toJSON: () => ({ model: 'sent' }) };
    expect(bodyFromValue(value).value).toEqual({ model: 'sent' });
    expect(refusal(() => bodyFromValue({ toJSON: () => [] })).message).toBe(NOT_OBJECT);
    expect(refusal(() => bodyFromValue({ toJSON: () => undefined })).message).toBe(NOT_JSON);
  });

  it('takes a client member that is called toJSON for a member', () => {
    expect(bodyFromValue({ toJSON: 1 }).bytes.toString()).toBe('{"toJSON":1}');
  });
});
