import fc from 'fast-check';
import { arrayElements, firstElement, hasDuplicates, objectMembers } from '../../lib/json/members';
import { memberText, objectText, pieces, space, valueText } from './json-text';

function found(text: string, start = 0) {
  const bytes = Buffer.from(text);
  return objectMembers(bytes, start).map(({ name, keyStart, valueStart, valueEnd }) => ({
    name,
    key: bytes.toString('utf8', keyStart, keyStart + 1),
    member: bytes.toString('utf8', keyStart, valueEnd),
    value: bytes.toString('utf8', valueStart, valueEnd),
  }));
}

function elements(text: string, start = 0) {
  const bytes = Buffer.from(text);
  return arrayElements(bytes, start).map((span) => bytes.toString('utf8', span.start, span.end));
}

describe('objectMembers', () => {
  it('finds every member exactly as it was written', () => {
    fc.assert(
      fc.property(pieces, space, space, (parts, lead, inner) => {
        const expected = parts.map((part) => ({
          name: part.name,
          key: '"',
          member: memberText(part),
          value: part.value,
        }));
        expect(found(objectText(parts, lead, inner))).toEqual(expected);
      }),
      { numRuns: 500 },
    );
  });

  it('finds the members of an object inside a larger text, and nothing behind it', () => {
    fc.assert(
      fc.property(pieces, pieces, space, (before, parts, lead) => {
        const head = `[${objectText(before)},`;
        const text = `${head}${lead}${objectText(parts)},{"behind":1}]`;
        expect(found(text, Buffer.byteLength(head)).map(({ value }) => value)).toEqual(
          parts.map(({ value }) => value),
        );
      }),
    );
  });

  it.each([0, 1, 62, 63, 64, 65, 66, 127, 128, 129, 5000])(
    'finds the end of a string of %i characters, whatever stands before its quote',
    (length) => {
      for (const tail of ['', '\\"', '\\\\', '\\\\\\"', '\\"\\"', '\\\\\\\\', '\\"x']) {
        const value = `"${'x'.repeat(length)}${tail}"`;
        expect(found(`{"a":${value},"b":"}"}`).map((member) => member.value)).toEqual([value, '"}"']);
      }
    },
  );

  it('finds the end of a string that is nothing but escapes', () => {
    for (const count of [1, 2, 63, 64, 65, 200]) {
      const value = `"${'\\\\'.repeat(count)}"`;
      const quotes = `"${'\\"'.repeat(count)}"`;
      expect(found(`{"a":${value},"b":${quotes}}`).map((member) => member.value)).toEqual([value, quotes]);
    }
  });

  it('resolves escapes in keys and leaves their text alone', () => {
    const [first, second] = found('{"m\\u006fdel":1,"\\u4f60\\n":2}');
    expect(first).toMatchObject({ name: 'model', member: '"m\\u006fdel":1' });
    expect(second).toMatchObject({ name: '\u4f60\n' });
  });

  it('keeps numbers that JavaScript would change', () => {
    const text = '{"seed":990000000262240065,"a":1.0,"b":-0,"c":1e400}';
    expect(found(text).map(({ value }) => value)).toEqual(['990000000262240065', '1.0', '-0', '1e400']);
  });

  it('lists __proto__ and constructor as the plain names they are', () => {
    const members = objectMembers(Buffer.from('{"__proto__":{"isAdmin":true},"constructor":1}'));
    expect(members.map(({ name }) => name)).toEqual(['__proto__', 'constructor']);
    expect(({} as Record<string, unknown>)['isAdmin']).toBeUndefined();
  });

  it('counts bytes, not characters', () => {
    expect(objectMembers(Buffer.from('{"\u00e9":"\u4f60","b":1}'))).toEqual([
      { name: '\u00e9', keyStart: 1, valueStart: 6, valueEnd: 11 },
      { name: 'b', keyStart: 12, valueStart: 16, valueEnd: 17 },
    ]);
  });

  it('walks through nesting deeper than any stack', () => {
    const deep = `${'[{"a":'.repeat(100_000)}null${'}]'.repeat(100_000)}`;
    const [first, second] = found(`{"deep":${deep},"after":[]}`);
    expect(first?.value.length).toBe(deep.length);
    expect(second?.value).toBe('[]');
  });

  it('finds nothing in an empty object', () => {
    expect(found('{}')).toEqual([]);
    expect(found(' \n{ \t\r\n }')).toEqual([]);
  });

  it.each(['[1]', '"a"', '', '   ', 'null'])('refuses to start at %j, which is no object', (text) => {
    expect(() => objectMembers(Buffer.from(text))).toThrow(new TypeError('no JSON object begins at byte 0'));
  });

  it('comes to an end on text that was never checked', () => {
    const texts = [
      '{"a',
      '{"a"',
      '{"a":',
      '{"a":"b',
      '{"a":[1,',
      '{"a":{"b":"',
      '{"a":1,',
      '{"a":1',
      '{"a\\',
    ];
    for (const text of texts) {
      expect(() => {
        objectMembers(Buffer.from(text));
      }).not.toThrow(RangeError);
    }
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'{}[]",:\\a1 ') }), (text) => {
        const bytes = Buffer.from(`{${text}`);
        const list = Buffer.from(`[${text}`);
        for (const { start, end } of arrayElements(list, 0)) expect(end).toBeGreaterThanOrEqual(start);
        try {
          objectMembers(bytes);
        } catch (error) {
          // A key cut in its escape is the one thing that is looked at again.
          expect(error).toBeInstanceOf(SyntaxError);
        }
      }),
    );
  });
});

describe('arrayElements and firstElement', () => {
  it('find every element exactly as it was written', () => {
    const items = fc.array(fc.tuple(space, valueText, space), { maxLength: 6 });
    fc.assert(
      fc.property(items, space, space, (list, lead, inner) => {
        const text = `${lead}[${inner}${list.map((item) => item.join('')).join(',')}]`;
        const values = list.map(([, value]) => value);
        expect(elements(text)).toEqual(values);
        const bytes = Buffer.from(text);
        const first = firstElement(bytes, 0);
        expect(first && bytes.toString('utf8', first.start, first.end)).toBe(values[0] ?? null);
      }),
      { numRuns: 300 },
    );
  });

  it('start where they are told to, and stop at the end of that array', () => {
    const text = '{"a":[0],"b": [ 1 , "]" ,[2,3], {"c":4} ] ,"d":[5]}';
    const start = text.indexOf('"b":') + 4;
    expect(elements(text, start)).toEqual(['1', '"]"', '[2,3]', '{"c":4}']);
    expect(firstElement(Buffer.from(text), start)).toEqual({ start: 16, end: 17 });
  });

  it('stop behind an element of one character', () => {
    expect(elements('{"a":[1],"b":[2],"c":3}', 5)).toEqual(['1']);
  });

  it('find nothing in an empty array', () => {
    expect(elements('[]')).toEqual([]);
    expect(elements(' [ \n]')).toEqual([]);
    expect(firstElement(Buffer.from('[ ]'), 0)).toBeNull();
  });

  it('refuse to start at what is no array', () => {
    expect(() => arrayElements(Buffer.from(' {}'), 0)).toThrow(TypeError('no JSON array begins at byte 0'));
    expect(() => firstElement(Buffer.from('[1]'), 1)).toThrow(TypeError('no JSON array begins at byte 1'));
  });
});

describe('hasDuplicates', () => {
  it('compares names with their escapes resolved', () => {
    expect(hasDuplicates(objectMembers(Buffer.from('{"model":1,"m\\u006fdel":2}')))).toBe(true);
    expect(hasDuplicates(objectMembers(Buffer.from('{"a":1,"b":{"a":2},"A":3}')))).toBe(false);
    expect(hasDuplicates([])).toBe(false);
  });

  it('agrees with JSON.parse about how many names there are', () => {
    fc.assert(
      fc.property(pieces, (parts) => {
        const text = objectText(parts);
        const names = Object.keys(JSON.parse(text) as object).length;
        expect(hasDuplicates(objectMembers(Buffer.from(text)))).toBe(names !== parts.length);
      }),
    );
  });
});
