/**
 * Pure: where a text stops being JSON, or says a key of one object twice.
 *
 * `JSON.parse` gives a position for some faults only (Node 20), repeats the text around it, and lets the
 * last of two equal keys win without a word.
 */

/** The first fault of a text; line and column count from 1. */
export interface JsonFault {
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

/** Deeper than any fleet file; keeps the walk off the end of the stack. */
const MAX_DEPTH = 200;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const SPACE = /[ \t\n\r]*/y;
const WORD = /true|false|null/y;

class Fault extends Error {
  constructor(
    readonly offset: number,
    message: string,
  ) {
    super(message);
  }
}

/** @returns the first fault, or null for a text that `JSON.parse` reads and that says each key once. */
export function findJsonFault(text: string): JsonFault | null {
  try {
    const end = skip(text, walkValue(text, skip(text, 0), 0));
    if (end < text.length) throw new Fault(end, 'is not JSON: more text after the end of the value');
    return null;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const before = text.slice(0, error.offset).split('\n');
    return { line: before.length, column: before.at(-1)!.length + 1, message: error.message };
  }
}

/** The end of what the sticky pattern matches at `from`, or -1. */
function matchEnd(pattern: RegExp, text: string, from: number): number {
  pattern.lastIndex = from;
  return pattern.test(text) ? pattern.lastIndex : -1;
}

function skip(text: string, from: number): number {
  return matchEnd(SPACE, text, from);
}

function expected(text: string, offset: number, what: string): Fault {
  const where = offset >= text.length ? 'the text ends where' : 'expected';
  return new Fault(offset, `is not JSON: ${where} ${what}${offset >= text.length ? ' should stand' : ''}`);
}

function walkValue(text: string, from: number, depth: number): number {
  if (depth > MAX_DEPTH) throw new Fault(from, `is nested deeper than ${MAX_DEPTH}`);
  const first = text[from];
  if (first === '{') return walkObject(text, from + 1, depth + 1);
  if (first === '[') return walkArray(text, from + 1, depth + 1);
  if (first === '"') return walkString(text, from);
  const end = Math.max(matchEnd(NUMBER, text, from), matchEnd(WORD, text, from));
  if (end < 0) throw expected(text, from, 'a value');
  return end;
}

/** By hand, not by one pattern: a pattern would keep a way back for each character. */
function walkString(text: string, from: number): number {
  let at = from + 1;
  for (;;) {
    if (at >= text.length) throw new Fault(from, 'is not JSON: a string without its end');
    const unit = text.charCodeAt(at);
    if (unit === 0x22) return at + 1;
    if (unit < 0x20) throw new Fault(at, 'is not JSON: a line end or control character in a string');
    const next = unit === 0x5c ? matchEnd(ESCAPE, text, at) : at + 1;
    if (next < 0) throw new Fault(at, 'is not JSON: a bad escape in a string');
    at = next;
  }
}

function walkArray(text: string, from: number, depth: number): number {
  let at = skip(text, from);
  if (text[at] === ']') return at + 1;
  for (;;) {
    at = skip(text, walkValue(text, at, depth));
    if (text[at] === ']') return at + 1;
    if (text[at] !== ',') throw expected(text, at, '"," or "]"');
    at = skip(text, at + 1);
  }
}

function walkObject(text: string, from: number, depth: number): number {
  const keys = new Set<string>();
  let at = skip(text, from);
  if (text[at] === '}') return at + 1;
  for (;;) {
    if (text[at] !== '"') throw expected(text, at, 'a key in double quotes');
    const end = walkString(text, at);
    const key = JSON.parse(text.slice(at, end)) as string;
    // Notes may repeat: nobody acts on them.
    if (keys.has(key) && !key.startsWith('_'))
      throw new Fault(at, `the key ${JSON.stringify(key)} stands twice`);
    keys.add(key);
    at = skip(text, end);
    if (text[at] !== ':') throw expected(text, at, '":"');
    at = skip(text, walkValue(text, skip(text, at + 1), depth));
    if (text[at] === '}') return at + 1;
    if (text[at] !== ',') throw expected(text, at, '"," or "}"');
    at = skip(text, at + 1);
  }
}
