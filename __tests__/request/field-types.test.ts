import { createBodyChecks } from '../../lib/request/schema';

type Value = Record<string, unknown>;

const checks = createBodyChecks();

/** A value as a client would send it: `__proto__` is an own member here. */
function json(text: string): Value {
  return JSON.parse(text) as Value;
}

describe('checkFieldTypes', () => {
  const rows: [field: string, words: string, right: string[], wrong: string[]][] = [
    ['model', 'a string', ['"m1"', '""'], ['1', 'true', '{}', '["m1"]']],
    ['stream', 'a boolean', ['true', 'false'], ['"false"', '0', '1', '[]', '{}']],
    [
      'prompt',
      'a string or an array',
      ['"hi"', '""', '[1,2]', '["a"]', '[[1],[2]]', '[]'],
      ['1', 'true', '{}'],
    ],
    [
      'messages',
      'an array',
      ['[]', '[{}]', '[{"role":"user"},{"__proto__":1}]'],
      ['"hi"', '1', 'false', '{}'],
    ],
  ];
  for (const field of ['n', 'best_of', 'max_tokens', 'max_completion_tokens']) {
    rows.push([
      field,
      'an integer',
      ['1', '0', '-3', '1.0', '1e2', '990000000262240065'],
      ['"2"', 'true', 'false', '1.5', '[]', '{}', '1e400', '""'],
    ]);
  }

  describe.each(rows)('%s', (field, words, right, wrong) => {
    it.each([...right, 'null'])('may be %s', (text) => {
      expect(checks.checkFieldTypes(json(`{"${field}":${text}}`))).toBeNull();
    });

    it.each(wrong)(`must be ${words}, not %s`, (text) => {
      const error = checks.checkFieldTypes(json(`{"${field}":${text}}`));
      expect(error?.status).toBe(400);
      expect(error?.toJSON()).toEqual({
        error: {
          message: `${field} must be ${words}`,
          type: 'invalid_request_error',
          param: field,
          code: null,
        },
      });
    });
  });

  it.each(['[null]', '[{},"hi"]', '[[]]', '[1]', '[{},{},true]'])(
    'refuses the messages %s for an item',
    (text) => {
      expect(checks.checkFieldTypes(json(`{"messages":${text}}`))).toMatchObject({
        outcome: 'badFieldType',
        message: 'every item in messages must be an object',
        param: 'messages',
      });
    },
  );

  it('reports the first wrong field of the table, whatever order the client wrote', () => {
    const fields = [
      'model',
      'stream',
      'n',
      'best_of',
      'max_tokens',
      'max_completion_tokens',
      'prompt',
      'messages',
    ];
    while (fields.length > 0) {
      const value = Object.fromEntries([...fields].reverse().map((field) => [field, { wrong: true }]));
      expect(checks.checkFieldTypes(value)?.param).toBe(fields.shift());
    }
  });

  it('looks at no other field', () => {
    const text = '{"temperature":"0.5","seed":"x","tools":1,"__proto__":{"n":"2","model":7},"constructor":1}';
    expect(checks.checkFieldTypes(json(text))).toBeNull();
  });

  it('takes a field that is undefined, or inherited, for absent', () => {
    expect(checks.checkFieldTypes({ model: undefined, n: undefined })).toBeNull();
    expect(checks.checkFieldTypes(Object.create({ model: 7 }) as Value)).toBeNull();
  });

  it('changes nothing', () => {
    for (const value of [
      { stream: 'false', n: '2', temperature: '0.5' },
      { n: true },
      { n: 1.0, prompt: [] },
    ]) {
      const before = structuredClone(value);
      checks.checkFieldTypes(Object.freeze(value));
      expect(value).toEqual(before);
    }
  });
});
