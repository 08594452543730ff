/**
 * Where the parts of a JSON text stand, so that they can be kept as they are: no number is rounded,
 * no escape rewritten, no key becomes a property of an object.
 *
 * The text is "binary": one character for each byte of the UTF-8 text. That is safe to search, as the
 * bytes of a non-ASCII character are never those of a quote, a bracket or a backslash. All functions
 * here expect text that `JSON.parse` has accepted.
 */

/** A part of a text: from `start` up to, not including, `end`. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** One member of an object: its key, and the span of its value. */
export interface Member extends Span {
  readonly key: string;
  /** The key as it stands in the text, quotes included. */
  readonly rawKey: string;
}

/** What kind of value begins at a place. */
export type Kind = 'null' | 'string' | 'array' | 'object' | 'scalar';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const SPACE = 0x20;

/** The kind of the value whose first character is at `start`. */
export function kindAt(text: string, start: number): Kind {
  switch (text.charCodeAt(start)) {
    case QUOTE:
      return 'string';
    case OPEN_BRACKET:
      return 'array';
    case OPEN_BRACE:
      return 'object';
    case 0x6e:
      return 'null';
    default:
      return 'scalar';
  }
}

/** The members of the object that begins at `start`. Of a key that occurs twice the last counts, as in `JSON.parse`. */
export function membersOf(text: string, start: number): Member[] {
  const members: Member[] = [];
  let at = skipSpace(text, start + 1);
  while (text.charCodeAt(at) !== CLOSE_BRACE) {
    const keyEnd = stringEnd(text, at);
    const rawKey = text.slice(at, keyEnd);
    const value = skipSpace(text, skipSpace(text, keyEnd) + 1);
    const end = valueEnd(text, value);
    const key = decodeString(rawKey);
    members.push({ key, rawKey, start: value, end });
    at = afterComma(text, end);
  }
  return hasTwins(members) ? [...new Map(members.map((one) => [one.key, one])).values()] : members;
}

/** Up to so many members, comparing each with each takes half the time of filling a `Set`. */
const FEW = 16;

function hasTwins(members: readonly Member[]): boolean {
  if (members.length > FEW) return new Set(members.map(({ key }) => key)).size < members.length;
  for (let i = 1; i < members.length; i++) {
    for (let j = 0; j < i; j++) if (members[i]!.key === members[j]!.key) return true;
  }
  return false;
}

/** The elements of the array that begins at `start`. */
export function elementsOf(text: string, start: number): Span[] {
  const elements: Span[] = [];
  let at = skipSpace(text, start + 1);
  while (text.charCodeAt(at) !== CLOSE_BRACKET) {
    const end = valueEnd(text, at);
    elements.push({ start: at, end });
    at = afterComma(text, end);
  }
  return elements;
}

/** A text of its own: a part of a text is a view of it, and keeps all of it. */
export function copyOf(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1');
}

/** Where the value begins that a text consists of. */
export function skipSpace(text: string, at: number): number {
  let next = at;
  while (text.charCodeAt(next) <= SPACE) next += 1;
  return next;
}

/** The characters that a raw string (quotes included) stands for. */
export function decodeString(raw: string): string {
  if (isPlain(raw)) return raw.slice(1, -1);
  return JSON.parse(Buffer.from(raw, 'latin1').toString()) as string;
}

/** ASCII without a backslash. A loop: for a short key a regular expression takes three times as long. */
function isPlain(raw: string): boolean {
  for (let i = 0; i < raw.length; i++) {
    const code = raw.charCodeAt(i);
    if (code === BACKSLASH || code > 0x7f) return false;
  }
  return true;
}

/**
 * True where `text` may stand between the quotes of a JSON string: no bare quote, no control
 * character, every backslash begins a whole escape.
 */
export function isStringBody(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code < SPACE || code === QUOTE) return false;
    if (code !== BACKSLASH) continue;
    const length = escapeLength(text, i + 1);
    if (length === 0) return false;
    i += length;
  }
  return true;
}

/** How many characters after a backslash belong to its escape; 0 where it is none. */
function escapeLength(text: string, at: number): number {
  const kind = text.charAt(at);
  if (kind === 'u') return /^[0-9a-fA-F]{4}$/.test(text.slice(at + 1, at + 5)) ? 5 : 0;
  return kind !== '' && '"\\/bfnrt'.includes(kind) ? 1 : 0;
}

function afterComma(text: string, end: number): number {
  const at = skipSpace(text, end);
  return text.charCodeAt(at) === COMMA ? skipSpace(text, at + 1) : at;
}

function stringEnd(text: string, start: number): number {
  let quote = text.indexOf('"', start + 1);
  while (isEscaped(text, quote)) quote = text.indexOf('"', quote + 1);
  return quote + 1;
}

/** An odd number of backslashes stands before `at`. */
function isEscaped(text: string, at: number): boolean {
  let first = at;
  while (text.charCodeAt(first - 1) === BACKSLASH) first -= 1;
  return (at - first) % 2 === 1;
}

function valueEnd(text: string, start: number): number {
  const kind = kindAt(text, start);
  if (kind === 'string') return stringEnd(text, start);
  if (kind === 'array' || kind === 'object') return nestedEnd(text, start);
  let end = start;
  while (!endsScalar(text.charCodeAt(end))) end += 1;
  return end;
}

/** Counts brackets instead of calling itself, so that no depth can overflow the stack. */
function nestedEnd(text: string, start: number): number {
  let depth = 0;
  let at = start;
  do {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = stringEnd(text, at);
      continue;
    }
    if (code === OPEN_BRACKET || code === OPEN_BRACE) depth += 1;
    if (code === CLOSE_BRACKET || code === CLOSE_BRACE) depth -= 1;
    at += 1;
  } while (depth > 0);
  return at;
}

function endsScalar(code: number): boolean {
  return (
    code === COMMA || code === CLOSE_BRACKET || code === CLOSE_BRACE || code <= SPACE || Number.isNaN(code)
  );
}
