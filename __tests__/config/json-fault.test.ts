import fc from 'fast-check';
import { findJsonFault } from '../../lib/config/json-fault';

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

describe('findJsonFault', () => {
  it.each([
    ['{\n  "a": 1,\n  b: 2\n}', 3, 3, 'a key in double quotes'],
    ['{"a": 1,}', 1, 9, 'a key in double quotes'],
    ['{"a": 1', 1, 8, 'the text ends'],
    ['', 1, 1, 'the text ends'],
    ['{"a": }', 1, 7, 'a value'],
    ['[1 2]', 1, 4, '"," or "]"'],
    ['{"a" 1}', 1, 6, '":"'],
    ['{"a": "x\ny"}', 1, 9, 'line end'],
    ['{"a": "\\q"}', 1, 8, 'bad escape'],
    ['["abc', 1, 2, 'without its end'],
    ['{} {}', 1, 4, 'more text'],
    ['[01]', 1, 3, '"," or "]"'],
  ])('tells where %j stops being JSON', (text, line, column, words) => {
    expect(findJsonFault(text)).toEqual({ line, column, message: expect.stringContaining(words) });
  });

  it('points at the second of two equal keys, also where one is written with an escape', () => {
    expect(findJsonFault('{"url": 1,\n "\\u0075rl": 2}')).toEqual({
      line: 2,
      column: 2,
      message: 'the key "url" stands twice',
    });
  });

  it('lets notes repeat, and equal keys of different objects', () => {
    expect(findJsonFault('{"_n": 1, "_n": 2, "a": {"x": 1}, "b": {"x": 1}}')).toBeNull();
  });

  it('refuses extreme depth instead of running out of stack', () => {
    expect(findJsonFault('['.repeat(100_000))?.message).toMatch(/nested deeper/);
  });

  it('reads a very long string', () => {
    expect(findJsonFault(JSON.stringify('x\n'.repeat(2_000_000)))).toBeNull();
  });

  it('accepts whatever JSON.stringify writes', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), fc.constantFrom(0, 2), (value, indent) => {
        expect(findJsonFault(JSON.stringify(value, null, indent))).toBeNull();
      }),
    );
  });

  it('agrees with JSON.parse on damaged text', () => {
    const pieces = [
      '{',
      '}',
      '[',
      ']',
      '"a"',
      '"',
      ':',
      ',',
      '1',
      '-',
      '0',
      '.5',
      'e',
      'true',
      'nul',
      ' ',
      '\n',
      '\\',
    ];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 8 }), (parts) => {
        const text = parts.join('');
        const fault = findJsonFault(text);
        if (fault?.message.includes('stands twice')) expect(parses(text)).toBe(true);
        else expect(fault === null).toBe(parses(text));
      }),
      { numRuns: 5000 },
    );
  });
});
