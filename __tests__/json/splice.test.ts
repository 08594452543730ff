import fc from 'fast-check';
import { objectMembers } from '../../lib/json/members';
import { type Edit, splice } from '../../lib/json/splice';
import { memberText, objectText, type Piece, pieces, space, valueText } from './json-text';

function spliced(text: string, edits: Record<string, Edit>, start = 0): string {
  const bytes = Buffer.from(text);
  return splice(bytes, objectMembers(bytes, start), new Map(Object.entries(edits))).toString();
}

/** What the result must be, worked out on the pieces. */
function model(parts: readonly Piece[], edits: ReadonlyMap<string, string | null>): string {
  const done = new Set<string>();
  let text = '';
  let previous: number | null = null;
  parts.forEach((part, index) => {
    const edit = edits.get(part.name);
    if (edit === null || done.has(part.name)) return;
    if (edit !== undefined) done.add(part.name);
    const before = parts[index - 1];
    if (previous !== null && previous === index - 1) text += `${before?.beforeComma},${before?.afterComma}`;
    else if (previous !== null) text += ',';
    text += memberText(part, edit ?? part.value);
    previous = index;
  });
  for (const [name, edit] of edits) {
    if (edit === null || done.has(name)) continue;
    text += `${text === '' ? '' : ','}${JSON.stringify(name)}:${edit}`;
  }
  return `{${text}}`;
}

const edit = fc.option(valueText, { nil: null });
/** Edits of names that are there, by their index, and of some that may not be. */
const wishes = fc.record({
  present: fc.array(fc.tuple(fc.nat({ max: 5 }), edit), { maxLength: 4 }),
  other: fc.array(fc.tuple(fc.constantFrom('model', 'stream', 'new"\n', '__proto__'), edit), {
    maxLength: 3,
  }),
  otherFirst: fc.boolean(),
});

function editsFor(
  parts: readonly Piece[],
  { present, other, otherFirst }: typeof wishes extends fc.Arbitrary<infer T> ? T : never,
): Map<string, string | null> {
  const known = present.flatMap(([index, text]): [string, string | null][] => {
    const part = parts[index];
    return part === undefined ? [] : [[part.name, text]];
  });
  return new Map(otherFirst ? [...other, ...known] : [...known, ...other]);
}

describe('splice', () => {
  it('changes what it is told to and keeps every other byte, for any object and any edits', () => {
    fc.assert(
      fc.property(pieces, wishes, space, (parts, wish, lead) => {
        const edits = editsFor(parts, wish);
        const bytes = Buffer.from(objectText(parts, lead));
        const result = splice(bytes, objectMembers(bytes), edits).toString();
        expect(result).toBe(model(parts, edits));
        expect(() => JSON.parse(result) as unknown).not.toThrow();
      }),
      { numRuns: 1000 },
    );
  });

  it('means what JSON.parse means: the edited object with the edits applied', () => {
    fc.assert(
      fc.property(pieces, wishes, (parts, wish) => {
        const unique = parts.filter(({ name }, at) => parts.findIndex((part) => part.name === name) === at);
        const edits = editsFor(unique, wish);
        const bytes = Buffer.from(objectText(unique));
        const expected = new Map(
          Object.entries(JSON.parse(bytes.toString()) as object).map(([k, v]) => [k, v as unknown]),
        );
        for (const [name, text] of edits) {
          if (text === null) expected.delete(name);
          else expected.set(name, JSON.parse(text) as unknown);
        }
        const result = JSON.parse(splice(bytes, objectMembers(bytes), edits).toString()) as object;
        expect(new Map(Object.entries(result))).toEqual(expected);
      }),
      { numRuns: 300 },
    );
  });

  it('keeps the place and the key text of a replaced member', () => {
    expect(spliced('{ "a" : 1 , "m\\u006fdel" : "x" , "b":2 }', { model: '"y"' })).toBe(
      '{"a" : 1 , "m\\u006fdel" : "y" , "b":2}',
    );
  });

  it('removes the first, the last, one in the middle and all', () => {
    const text = '{"a":1, "b":2,\n"c":3}';
    expect(spliced(text, { a: null })).toBe('{"b":2,\n"c":3}');
    expect(spliced(text, { b: null })).toBe('{"a":1,"c":3}');
    expect(spliced(text, { c: null })).toBe('{"a":1, "b":2}');
    expect(spliced(text, { a: null, b: null, c: null })).toBe('{}');
  });

  it('replaces in place beside a removed member, in either order', () => {
    expect(spliced('{"a":1,"b":2}', { a: null, b: '3' })).toBe('{"b":3}');
    expect(spliced('{"a":1,"b":2}', { a: '3', b: null })).toBe('{"a":3}');
    expect(spliced('{"a":1,"b":2,"c":4}', { a: '3', c: '5' })).toBe('{"a":3,"b":2,"c":5}');
  });

  it('appends what is new in the order of the map, also to an empty object', () => {
    expect(spliced('{"a":1}', { z: 'true', y: Buffer.from('[1.0]'), x: null })).toBe(
      '{"a":1,"z":true,"y":[1.0]}',
    );
    expect(spliced('{ }', { z: '1', y: '2' })).toBe('{"z":1,"y":2}');
    expect(spliced('{"a":1}', { a: null, z: '1' })).toBe('{"z":1}');
  });

  it('writes an appended name as JSON', () => {
    expect(spliced('{}', { 'q"\\\n': '1' })).toBe('{"q\\"\\\\\\n":1}');
  });

  it('works on an object inside a larger text and returns that object alone', () => {
    const text = '{"stream_options": { "continuous": true } ,"b":1}';
    expect(spliced(text, { include_usage: 'true' }, text.indexOf(' { "c'))).toBe(
      '{"continuous": true,"include_usage":true}',
    );
  });

  it('edits the first of two members with one name and leaves the second out', () => {
    expect(spliced('{"a":1,"b":2,"a":3,"c":4}', { a: '9' })).toBe('{"a":9,"b":2,"c":4}');
    expect(spliced('{"a":1,"b":2,"a":3}', { a: null })).toBe('{"b":2}');
    expect(spliced('{"a":1,"a":2}', { b: '3' })).toBe('{"a":1,"a":2,"b":3}');
  });

  it('sends on the digits, exponents and escapes that a round trip would lose', () => {
    const kept = '"seed":990000000262240065,"x":1e400,"t":1.0,"s":"\\u00e9\\/","__proto__":{"n":3}';
    expect(spliced(`{${kept},"stream":false}`, { stream: 'true' })).toBe(`{${kept},"stream":true}`);
  });

  it('leaves the client text as it was', () => {
    const bytes = Buffer.from('{"a":1,"b":2}');
    splice(bytes, objectMembers(bytes), new Map([['a', '9']])).fill(0x78);
    expect(bytes.toString()).toBe('{"a":1,"b":2}');
  });
});
