/**
 * Where each member of a JSON object stands in its text. Everything here works on bytes that
 * `JSON.parse` has already accepted, so it looks only for borders and checks nothing again.
 */

/** One member of an object. The offsets are bytes into the buffer, white space excluded. */
export interface Member {
  /** The key with its escapes resolved. */
  readonly name: string;
  /** Of the opening quote of the key. */
  readonly keyStart: number;
  readonly valueStart: number;
  /** One behind the last byte of the value. */
  readonly valueEnd: number;
}

/** A piece of the text: from `start` up to, but not including, `end`. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/**
 * The next quote is first sought byte by byte for this many bytes, then natively. A native search
 * costs as much as walking some tens of bytes, so it pays only where quotes are rare.
 */
const WALK_BYTES = 64;

/**
 * The members of one object, in the order of the text. A name that occurs twice is listed twice.
 *
 * @param bytes text that `JSON.parse` has accepted.
 * @param start where the object, or white space before it, begins.
 * @throws {TypeError} where no object begins there (a bug in the caller).
 */
export function objectMembers(bytes: Buffer, start = 0): Member[] {
  let at = enter(bytes, start, OPEN_OBJECT, 'object');
  const members: Member[] = [];
  while (bytes[at] === QUOTE) {
    const keyStart = at;
    const keyEnd = endOfString(bytes, keyStart);
    const colon = skipSpace(bytes, keyEnd);
    const valueStart = skipSpace(bytes, colon + 1);
    const valueEnd = endOfValue(bytes, valueStart);
    members.push({ name: decodeKey(bytes, keyStart, keyEnd), keyStart, valueStart, valueEnd });
    at = nextItem(bytes, valueEnd);
  }
  return members;
}

/**
 * Where the value of a key stands that occurs in the text only once, as a key or in whatever way.
 *
 * @param bytes text that `JSON.parse` has accepted, and whose value has this key somewhere.
 * @returns null where the text holds `"name"` more than once, as a value, or spelled with escapes.
 */
export function onlyValueOf(bytes: Buffer, name: string): Span | null {
  const key = `"${name}"`;
  const at = bytes.indexOf(key, 0, 'latin1');
  // Inside of a string its quotes would be escaped: these bytes are a key or a whole value.
  if (at === -1 || bytes.indexOf(key, at + 1, 'latin1') !== -1) return null;
  const colon = skipSpace(bytes, at + key.length);
  if (bytes[colon] !== COLON) return null;
  const start = skipSpace(bytes, colon + 1);
  return { start, end: endOfValue(bytes, start) };
}

/**
 * The elements of one array, in the order of the text.
 *
 * @param bytes text that `JSON.parse` has accepted.
 * @param start where the array, or white space before it, begins.
 * @throws {TypeError} where no array begins there (a bug in the caller).
 */
export function arrayElements(bytes: Buffer, start: number): Span[] {
  let at = enter(bytes, start, OPEN_ARRAY, 'array');
  const elements: Span[] = [];
  while (at < bytes.length && bytes[at] !== CLOSE_ARRAY) {
    const end = endOfValue(bytes, at);
    elements.push({ start: at, end });
    // A caller's broken text must end the loop, not spin in it.
    at = Math.max(nextItem(bytes, end), at + 1);
  }
  return elements;
}

/**
 * The first element of the array that begins at `start`, or null where the array is empty.
 * Reads no further than that element.
 *
 * @throws {TypeError} where no array begins there (a bug in the caller).
 */
export function firstElement(bytes: Buffer, start: number): Span | null {
  const at = enter(bytes, start, OPEN_ARRAY, 'array');
  if (bytes[at] === CLOSE_ARRAY) return null;
  return { start: at, end: endOfValue(bytes, at) };
}

/** True where two members have the same name once escapes are resolved. */
export function hasDuplicates(members: readonly Member[]): boolean {
  const names = new Set<string>();
  for (const { name } of members) names.add(name);
  return names.size !== members.length;
}

/** Steps over the opening bracket; returns where the first item, or the closing bracket, stands. */
function enter(bytes: Buffer, start: number, bracket: number, kind: string): number {
  const at = skipSpace(bytes, start);
  if (bytes[at] !== bracket) throw new TypeError(`no JSON ${kind} begins at byte ${start}`);
  return skipSpace(bytes, at + 1);
}

/** From the end of one item to the start of the next, or to the closing bracket. */
function nextItem(bytes: Buffer, end: number): number {
  const at = skipSpace(bytes, end);
  return bytes[at] === COMMA ? skipSpace(bytes, at + 1) : at;
}

function decodeKey(bytes: Buffer, keyStart: number, keyEnd: number): string {
  for (let at = keyStart; at < keyEnd; at++) {
    const byte = bytes[at]!;
    if (byte === BACKSLASH || byte > 0x7f) {
      return JSON.parse(bytes.toString('utf8', keyStart, keyEnd)) as string;
    }
  }
  // ASCII: half the time of decoding it as UTF-8.
  return bytes.toString('latin1', keyStart + 1, keyEnd - 1);
}

function skipSpace(bytes: Buffer, start: number): number {
  let at = start;
  while (isSpace(bytes[at])) at++;
  return at;
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function endOfValue(bytes: Buffer, start: number): number {
  const first = bytes[start];
  if (first === QUOTE) return endOfString(bytes, start);
  if (first === OPEN_OBJECT || first === OPEN_ARRAY) return endOfContainer(bytes, start);
  let at = start;
  while (at < bytes.length && !endsScalar(bytes[at])) at++;
  return at;
}

function endsScalar(byte: number | undefined): boolean {
  return byte === COMMA || byte === CLOSE_OBJECT || byte === CLOSE_ARRAY || isSpace(byte);
}

/** Counts brackets instead of calling itself: the text may nest deeper than the stack. */
function endOfContainer(bytes: Buffer, start: number): number {
  let depth = 0;
  let at = start;
  while (at < bytes.length) {
    const byte = bytes[at];
    if (byte === QUOTE) {
      at = endOfString(bytes, at);
      continue;
    }
    at++;
    if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) depth++;
    else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
      depth--;
      if (depth === 0) return at;
    }
  }
  return at;
}

/** One behind the closing quote of the string whose opening quote stands at `start`. */
function endOfString(bytes: Buffer, start: number): number {
  const walkEnd = Math.min(start + 1 + WALK_BYTES, bytes.length);
  for (let at = start + 1; at < walkEnd; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) return at + 1;
    // From here on parity has to be looked at: the search below does.
    if (byte === BACKSLASH) break;
  }
  let quote = bytes.indexOf(QUOTE, start + 1);
  while (quote !== -1 && isEscaped(bytes, quote)) quote = bytes.indexOf(QUOTE, quote + 1);
  return quote === -1 ? bytes.length : quote + 1;
}

/**
 * Whether a quote inside a string is escaped: an odd number of backslashes before it. The opening
 * quote, or the last escaped one, ends the count, so that no byte is counted twice.
 */
function isEscaped(bytes: Buffer, quote: number): boolean {
  let at = quote;
  while (bytes[at - 1] === BACKSLASH) at--;
  return (quote - at) % 2 === 1;
}
