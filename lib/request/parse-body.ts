/** The client's body, parsed once and kept as text (contract: section 4, step 3). */
import { isAscii, isUtf8 } from 'node:buffer';
import { NarwhalError } from '../errors';
import { joined, lengthOf } from '../json/chunks';
import { hasDuplicates, objectMembers } from '../json/members';
import { LONG_BODY_BYTES, outlinedBody } from './outline';
import { ParsedBody } from './parsed-body';
import { hasLoneSurrogate } from './surrogates';
import { isObject } from './values';

const NOT_JSON = 'the request body is not valid JSON';
const NOT_OBJECT = 'the request body must be a JSON object';

/** Chunks of a long body are kept as they came where they have this many bytes, on average. */
const FULL_CHUNK_BYTES = 8 * 1024;

/** The byte order mark, which some clients put before their text. */
const MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/**
 * Parses the bytes of a body.
 *
 * @param given inflated, not decoded, in one piece or as it came. It is kept, not copied.
 * @throws {NarwhalError} `badEncoding` for bytes that are not UTF-8; `badJson` for text that is not
 *   JSON or holds half a surrogate pair; `badBodyShape` for another value than an object, and for a
 *   top-level key that occurs twice.
 */
export function parseBody(given: Buffer | readonly Buffer[]): ParsedBody {
  const chunks = withoutMark(Buffer.isBuffer(given) ? [given] : (given as readonly Buffer[]));
  const length = lengthOf(chunks);
  const isLong = length >= LONG_BODY_BYTES;
  // Of small chunks there may be a hundred thousand: walking them again and again costs more than one copy.
  if (isLong && length >= chunks.length * FULL_CHUNK_BYTES && chunks.every((chunk) => isAscii(chunk))) {
    const body = outlinedBody(chunks);
    if (body !== null) return body;
  }
  // A character may stand in two chunks, so that only the whole can be checked.
  const bytes = joined(chunks);
  const outlined = isLong && isUtf8(bytes) ? outlinedBody([bytes]) : null;
  if (outlined !== null) return outlined;
  if (isAscii(bytes)) return wholeBody(bytes, bytes.toString('latin1'));
  if (!isUtf8(bytes)) throw new NarwhalError('badEncoding', 'the request body is not valid UTF-8');
  return wholeBody(bytes, bytes.toString('utf8'));
}

function wholeBody(bytes: Buffer, text: string): ParsedBody {
  return mark(bytes, text, parseJson(text));
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
  // What is checked must be what is sent, whatever the host does with its object from here on: the text is read back.
  const body = parseBody(Buffer.from(text ?? ''));
  return typeof value['toJSON'] === 'function' ? body : new ParsedBody({ ...body, value });
}

function withoutMark(chunks: readonly Buffer[]): readonly Buffer[] {
  const [first] = chunks;
  if (first === undefined || first[0] !== 0xef) return chunks;
  if (first.length < MARK.length && chunks.length > 1) return withoutMark([joined(chunks)]);
  return first.subarray(0, MARK.length).equals(MARK)
    ? [first.subarray(MARK.length), ...chunks.slice(1)]
    : chunks;
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
  return new ParsedBody({ chunks: [bytes], outline: value, value: null, members });
}
