/** The client's body, parsed once and kept as text (contract: section 4, step 3). */
import { isAscii, isUtf8 } from 'node:buffer';
import { NarwhalError } from '../errors';
import { hasDuplicates, type Member, objectMembers } from '../json/members';
import { hasLoneSurrogate } from './surrogates';
import { isObject } from './values';

/** A body that passed the checks of its text. */
export interface ParsedBody {
  /** The client's own text, without a byte order mark. */
  readonly bytes: Buffer;
  /** For looking only. What goes on is cut from `bytes`, which this value cannot always restore. */
  readonly value: Readonly<Record<string, unknown>>;
  /** Where each top-level member stands in `bytes`; no name occurs twice. */
  readonly members: readonly Member[];
}

const NOT_JSON = 'the request body is not valid JSON';
const NOT_OBJECT = 'the request body must be a JSON object';

/**
 * Parses the bytes of a body.
 *
 * @param bytes inflated, not decoded. They are kept, not copied.
 * @throws {NarwhalError} `badEncoding` for bytes that are not UTF-8; `badJson` for text that is not
 *   JSON or holds half a surrogate pair; `badBodyShape` for another value than an object, and for a
 *   top-level key that occurs twice.
 */
export function parseBody(bytes: Buffer): ParsedBody {
  const text = withoutMark(bytes);
  const decoded = decode(text);
  return mark(text, decoded, parseJson(decoded));
}

function decode(text: Buffer): string {
  // ASCII, which most long prompts are, is decoded three times as fast as what only may be.
  if (isAscii(text)) return text.toString('latin1');
  if (!isUtf8(text)) throw new NarwhalError('badEncoding', 'the request body is not valid UTF-8');
  return text.toString('utf8');
}

/**
 * Takes a body that the host has already parsed; it is written as JSON once.
 *
 * @param value what the host left in `req.body`. It becomes the `value` of the result.
 * @throws {NarwhalError} as `parseBody`; `badJson` also for what JSON cannot write (a BigInt, a
 *   cycle, nesting deeper than the stack).
 */
export function bodyFromValue(value: unknown): ParsedBody {
  if (!isObject(value)) throw new NarwhalError('badBodyShape', NOT_OBJECT);
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch {
    // No cause, as in `parseJson`: the error of a cycle names the members on its way.
    throw new NarwhalError('badJson', NOT_JSON);
  }
  // What is checked must be what is sent: an object that writes itself is read back from its text.
  if (typeof value['toJSON'] === 'function') return parseBody(Buffer.from(text ?? ''));
  return mark(Buffer.from(text), text, value);
}

function withoutMark(bytes: Buffer): Buffer {
  const marked = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  return marked ? bytes.subarray(3) : bytes;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's own message quotes the client's text, so it goes nowhere, not even as a cause.
    throw new NarwhalError('badJson', NOT_JSON);
  }
}

function mark(bytes: Buffer, text: string, value: unknown): ParsedBody {
  if (!isObject(value)) throw new NarwhalError('badBodyShape', NOT_OBJECT);
  if (hasLoneSurrogate(bytes, text)) {
    throw new NarwhalError('badJson', 'the request body must not contain unpaired surrogate escapes');
  }
  const members = objectMembers(bytes);
  if (hasDuplicates(members)) {
    throw new NarwhalError('badBodyShape', 'the request body must not repeat a top-level key');
  }
  return { bytes, value, members };
}
