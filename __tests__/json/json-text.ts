/** JSON text built piece by piece, so that a test knows where each piece stands without a scanner. */
import fc from 'fast-check';

/** One member as it was written. */
export interface Piece {
  readonly key: string;
  readonly name: string;
  readonly beforeColon: string;
  readonly afterColon: string;
  readonly value: string;
  readonly beforeComma: string;
  readonly afterComma: string;
}

export const space = fc.string({ unit: fc.constantFrom(' ', '\n', '\r', '\t'), maxLength: 3 });

const fragment = fc.oneof(
  fc.constantFrom('a', 'Z', '\u00e9', '\u4f60', '\u{1f600}', '{', '}', '[', ']', ',', ':', ' '),
  fc.constantFrom('\\"', '\\\\', '\\n', '\\/', '\\t', '\\u00e9', '\\u0022', '\\ud83d\\ude00', '\\\\\\"'),
  // Around the place where the search for the closing quote changes its means, and far behind it.
  fc.integer({ min: 1, max: 140 }).map((length) => 'x'.repeat(length)),
);

export const stringText = fc.array(fragment, { maxLength: 8 }).map((parts) => `"${parts.join('')}"`);

const scalarText = fc.oneof(
  stringText,
  fc.constantFrom(
    '0',
    '-0',
    '1.0',
    '1e2',
    '1e400',
    '-2.5E-10',
    '990000000262240065',
    'true',
    'false',
    'null',
  ),
);

const keyText = fc.oneof(
  stringText,
  fc.constantFrom('"model"', '"m\\u006fdel"', '"__proto__"', '"constructor"', '"stream"', '""'),
);

/** Any JSON value, with white space wherever the grammar allows it. */
export const valueText: fc.Arbitrary<string> = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    scalarText,
    fc
      .tuple(space, fc.array(fc.tuple(space, tie('value'), space), { maxLength: 4 }))
      .map(([inner, items]) => `[${inner}${items.map((item) => item.join('')).join(',')}]`),
    fc
      .tuple(space, fc.array(fc.tuple(space, keyText, space, tie('value'), space), { maxLength: 4 }))
      .map(([inner, items]) => {
        const members = items.map(([a, key, b, value, c]) => `${a}${key}${b}:${value}${c}`);
        return `{${inner}${members.join(',')}}`;
      }),
  ),
})).value;

export const piece: fc.Arbitrary<Piece> = fc
  .tuple(keyText, space, space, valueText, space, space)
  .map(([key, beforeColon, afterColon, value, beforeComma, afterComma]) => ({
    key,
    name: JSON.parse(key) as string,
    beforeColon,
    afterColon,
    value,
    beforeComma,
    afterComma,
  }));

export const pieces = fc.array(piece, { maxLength: 6 });

/** The text of one member, with its own value or another. */
export function memberText(part: Piece, value = part.value): string {
  return `${part.key}${part.beforeColon}:${part.afterColon}${value}`;
}

/** The text of the object; `lead` and `inner` stand before and behind its opening brace. */
export function objectText(parts: readonly Piece[], lead = '', inner = ''): string {
  let text = `${lead}{${inner}`;
  parts.forEach((part, index) => {
    text += memberText(part) + part.beforeComma;
    if (index < parts.length - 1) text += `,${part.afterComma}`;
  });
  return `${text}}`;
}
