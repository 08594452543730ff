/** Compressed bodies: which encodings are taken, and inflating within the limit. */
import { constants } from 'node:buffer';
import {
  type BrotliOptions,
  brotliDecompress,
  gunzip,
  inflate,
  inflateRaw,
  type Zlib,
  type ZlibOptions,
} from 'node:zlib';
import { NarwhalError } from '../errors';

/** An encoding that is taken; `null` stands for none. */
export type Encoding = 'gzip' | 'deflate' | 'br' | null;

/** `x-gzip` is the same as `gzip`: RFC 9110, section 8.4.1.3. */
const ENCODINGS: ReadonlyMap<string, Encoding> = new Map<string, Encoding>([
  ['', null],
  ['identity', null],
  ['gzip', 'gzip'],
  ['x-gzip', 'gzip'],
  ['deflate', 'deflate'],
  ['br', 'br'],
]);

/**
 * Reads the header `content-encoding`.
 *
 * @throws {NarwhalError} `unknownEncoding` for another encoding and for several on top of each other.
 */
export function encodingOf(header: string | undefined): Encoding {
  const encoding = ENCODINGS.get((header ?? '').trim().toLowerCase());
  if (encoding === undefined) {
    throw new NarwhalError(
      'unknownEncoding',
      'the content encoding is not supported: use gzip, deflate, br or none',
    );
  }
  return encoding;
}

/**
 * Inflates a body. Works off the main thread, piece by piece, and stops with the piece that passes
 * the limit, so that a small body cannot fill the memory.
 *
 * @param maxBytes most bytes of the result.
 * @throws {NarwhalError} `bodyTooLarge` above the limit; `badEncoding` for bytes that are not in that
 *   encoding, are cut short, or go on behind its end.
 */
export async function inflateBody(
  bytes: Buffer,
  encoding: Exclude<Encoding, null>,
  maxBytes: number,
): Promise<Buffer> {
  let result: Inflated;
  try {
    result = await inflateAll(bytes, encoding, Math.min(maxBytes, constants.MAX_LENGTH));
  } catch (cause) {
    throw (cause as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE' ? tooLarge(maxBytes) : mismatch();
  }
  // The engines stop at the end mark and say nothing about what follows it.
  if (result.consumed !== bytes.length) throw mismatch();
  return result.bytes;
}

/** The refusal of a body above the limit, whichever of its sizes is. */
export function tooLarge(maxBytes: number): NarwhalError {
  return new NarwhalError('bodyTooLarge', `the request body is larger than ${maxBytes} bytes`);
}

interface Inflated {
  readonly bytes: Buffer;
  /** How many bytes of the input the engine took. */
  readonly consumed: number;
}

/** What zlib hands over where `info` is asked for; its types know only the buffer. */
interface ZlibInfo {
  readonly buffer: Buffer;
  readonly engine: Zlib;
}

type Inflate = (
  bytes: Buffer,
  options: ZlibOptions & BrotliOptions,
  done: (error: Error | null, result: unknown) => void,
) => void;

function inflateAll(
  bytes: Buffer,
  encoding: Exclude<Encoding, null>,
  maxOutputLength: number,
): Promise<Inflated> {
  return new Promise((resolve, reject) => {
    inflaterFor(encoding, bytes)(bytes, { maxOutputLength, info: true }, (error, result) => {
      if (error !== null) return reject(error);
      const { buffer, engine } = result as ZlibInfo;
      resolve({ bytes: buffer, consumed: engine.bytesWritten });
    });
  });
}

function inflaterFor(encoding: Exclude<Encoding, null>, bytes: Buffer): Inflate {
  if (encoding === 'gzip') return gunzip;
  if (encoding === 'br') return brotliDecompress;
  // `deflate` means the zlib format, but some clients send bare deflate data (RFC 9110, 8.4.1.2). The
  // low half of zlib's first byte is always 8 (RFC 1950); bare data does not begin so in practice.
  return (bytes[0]! & 0x0f) === 8 ? inflate : inflateRaw;
}

function mismatch(): NarwhalError {
  return new NarwhalError('badEncoding', 'the request body does not match its content encoding');
}
