import fc from 'fast-check';
import { LONG_STRING_BYTES, longStrings } from '../../lib/json/long-strings';
import { valueText } from './json-text';

/** Bytes of one window of the scanner: borders are where mistakes would be. */
const WINDOW = 0x10010;

/** Cut at the given places, which may be anywhere. */
function cut(text: string, places: readonly number[] = []): Buffer[] {
  const bytes = Buffer.from(text);
  const ends = [...new Set(places.map((place) => place % (bytes.length + 1))), bytes.length];
  ends.sort((a, b) => a - b);
  return ends.map((end, at) => bytes.subarray(ends[at - 1] ?? 0, end));
}

/** What a reader that knows nothing of windows finds; the text is JSON. */
function literals(text: string): string[] {
  const all = text.match(/"(?:[^"\\]|\\.)*"/gs) ?? [];
  return all.filter((literal) => Buffer.byteLength(literal) >= LONG_STRING_BYTES);
}

function found(chunks: readonly Buffer[]): string[] | null {
  const whole = Buffer.concat(chunks);
  const spans = longStrings(chunks);
  return spans === null ? null : spans.map(({ start, end }) => whole.toString('utf8', start, end));
}

const longFragment = fc.oneof(
  fc.integer({ min: 200, max: 400 }).map((length) => 'y'.repeat(length)),
  fc.constantFrom('\\"', '\\\\', '\\n', '\\u00e9', '\\ud83d\\ude00', '\u4f60', '{', '\\\\\\"'),
);
const longLiteral = fc
  .array(longFragment, { minLength: 1, maxLength: 6 })
  .map((parts) => `"${parts.join('')}"`);
const mixedText = fc
  .array(fc.oneof(valueText, longLiteral), { minLength: 1, maxLength: 5 })
  .map((parts) => `[${parts.join(',')}]`);
const places = fc.array(fc.nat({ max: 4000 }), { maxLength: 12 });

describe('longStrings', () => {
  it('finds each long literal, keys too, and no short one, however the text is cut', () => {
    fc.assert(
      fc.property(mixedText, places, (text, cuts) => {
        expect(found(cut(text, cuts))).toEqual(literals(text));
      }),
      { numRuns: 500 },
    );
  });

  it('finds a string of exactly the least length, and none that is a byte shorter', () => {
    const least = `"${'x'.repeat(LONG_STRING_BYTES - 2)}"`;
    expect(found([Buffer.from(`[${least}]`)])).toEqual([least]);
    expect(found([Buffer.from(`["${'x'.repeat(LONG_STRING_BYTES - 3)}"]`)])).toEqual([]);
  });

  it('finds strings over several windows and strings behind them', () => {
    const long = `"${'The \\"quick\\" fox.\\n'.repeat(10_000)}"`;
    const after = `"${'z'.repeat(300)}"`;
    const text = `{"a":${long},"b":1,"c":${after}}`;
    expect(found([Buffer.from(text)])).toEqual([long, after]);
    expect(found(cut(text, [1, 65_536, 65_537, 131_072, 150_000]))).toEqual([long, after]);
  });

  // Each escape is moved over the border of a window, byte by byte.
  it.each([['\\n'], ['\\\\'], ['\\"'], ['\\u00e9'], ['\\ud83d\\ude00'], ['\\ud83d\\ude00\\\\\\"']])(
    'takes %s on every place at the border of a window',
    (sequence) => {
      for (let before = WINDOW - 30; before <= WINDOW + 2; before++) {
        const literal = `"${'x'.repeat(before)}${sequence}${'y'.repeat(300)}"`;
        expect(found([Buffer.from(literal)])).toEqual([literal]);
      }
    },
  );

  it.each([['\\n'], ['\\\\'], ['\\ud83d\\ude00'], ['\\"']])(
    'takes %s in chunks of one byte, two and so on',
    (sequence) => {
      const literal = `"${'x'.repeat(300)}${sequence}"`;
      for (let size = 1; size < 20; size++) {
        const cuts = Array.from({ length: Math.ceil(literal.length / size) }, (_, at) => at * size);
        expect(found(cut(literal, cuts))).toEqual([literal]);
      }
    },
  );

  it.each([
    ['an escape that there is not', '"\\q"'],
    ['a control character', '"a\u0001b"'],
    ['a bare line break', '"a\nb"'],
    ['a \\u with too few digits', '"\\u12"'],
    ['a \\u with a letter that is no digit', '"\\u12g4"'],
    ['a \\u with the sign between the digits and the letters', '"\\u:123"'],
    ['half a pair, the first', '"\\ud83d"'],
    ['half a pair, the second', '"\\ude00"'],
    ['the first half before another escape', '"\\ud83d\\u0041"'],
    ['the first half before a character', '"\\ud83d\u00e9\u00e9\u00e9"'],
    ['two first halves', '"\\ud83d\\ud83d"'],
    ['a first half and a bad second one', '"\\ud83d\\ude0x"'],
    ['no end', '"abc'],
    ['an escape at the end', '"abc\\'],
    ['a \\u at the end', '"abc\\u'],
    ['a first half at the end', '"abc\\ud83d'],
  ])('refuses %s, at any place', (_what, literal) => {
    for (const before of [0, 1, 14, 15, 16, 17, 250, WINDOW - 9, WINDOW - 8, WINDOW]) {
      const lead = literal[0] + 'x'.repeat(before) + literal.slice(1);
      expect(longStrings([Buffer.from(`[${lead}`)])).toBeNull();
      expect(longStrings(cut(`[${lead},"${'x'.repeat(400)}"]`, [before + 3]))).toBeNull();
    }
  });

  it('agrees with JSON.parse about every character behind a backslash', () => {
    for (let code = 0; code < 0x80; code++) {
      const literal = `"${'x'.repeat(20)}\\${String.fromCharCode(code)}0041 "`;
      let parses = true;
      try {
        JSON.parse(literal);
      } catch {
        parses = false;
      }
      expect([code, longStrings([Buffer.from(literal)]) !== null]).toEqual([code, parses]);
    }
  });

  it('begins anew for each text, whatever the one before was', () => {
    const literal = `"${'x'.repeat(300)}"`;
    for (const bad of ['["abc', '["\\q"]', `[${literal}`]) {
      longStrings([Buffer.from(bad)]);
      expect(found([Buffer.from(`[${literal}]`)])).toEqual([literal]);
    }
  });

  it('finds nothing in nothing', () => {
    expect(longStrings([])).toEqual([]);
    expect(longStrings([Buffer.alloc(0)])).toEqual([]);
  });

  it('says that it cannot tell where there is no WebAssembly', () => {
    const { WebAssembly } = globalThis as { WebAssembly?: unknown };
    try {
      delete (globalThis as { WebAssembly?: unknown }).WebAssembly;
      jest.isolateModules(() => {
        const without = jest.requireActual<{ longStrings: typeof longStrings }>(
          '../../lib/json/long-strings',
        );
        expect(without.longStrings([Buffer.from('[]')])).toBeNull();
      });
    } finally {
      (globalThis as { WebAssembly?: unknown }).WebAssembly = WebAssembly;
    }
  });
});
