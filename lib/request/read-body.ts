/** The bytes of the client's body, read by us or by the host before us. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { ClientGoneError, NarwhalError } from '../errors';
import { joined } from '../json/chunks';
import { encodingOf, inflateBody, tooLarge } from './content-encoding';
import { drain } from './drain';
import { bodyFromValue, parseBody } from './parse-body';
import type { ParsedBody } from './parsed-body';

/** A request as the host hands it over: a parser may have left the body on it. */
export interface BodyRequest extends IncomingMessage {
  body?: unknown;
  rawBody?: unknown;
}

/** Limits of `readBody`. */
export interface ReadBodyOptions {
  /** Most bytes of the body, as sent and as inflated. */
  readonly maxBytes: number;
}

/**
 * Reads and parses the body, or takes it from a parser of the host. Call it once per request.
 *
 * A body counts as read by the host when the stream was consumed, whatever `req.body` holds: parsers
 * leave `{}` on what they skip, and a parsed `false` or `0` is a body. Bytes that the host kept in
 * `req.rawBody` win over `req.body`.
 *
 * A refused upload is drained in a bounded way, so that the client can read the answer.
 *
 * @throws {NarwhalError} `bodyTooLarge`, `unknownEncoding`, `badEncoding`, what `parseBody` throws,
 *   and `internal` where the stream was consumed and nothing kept (a mistake in the host's set-up).
 * @throws {ClientGoneError} where the client left before its body was complete.
 */
export async function readBody(req: BodyRequest, { maxBytes }: ReadBodyOptions): Promise<ParsedBody> {
  if (req.readableDidRead || req.readableEnded) return bodyOfHost(req, maxBytes);
  try {
    const encoding = encodingOf(req.headers['content-encoding']);
    const chunks = await readStream(req, maxBytes);
    if (encoding === null || chunks.length === 0) return parseBody(chunks);
    return parseBody(await inflateBody(joined(chunks), encoding, maxBytes));
  } catch (error) {
    drain(req);
    throw error;
  }
}

/**
 * A `verify` hook for body-parser and `express.json()`: keeps the bytes in `req.rawBody`, so that what
 * reaches the engine is the client's text and not a copy written anew.
 *
 * @param buf the body, inflated.
 * @param encoding the charset that body-parser found. Bytes in another than UTF-8 are not kept,
 *   because they are no JSON; the parsed value is used then.
 */
export function keepRawBody(
  req: IncomingMessage,
  _res: ServerResponse,
  buf: Buffer,
  encoding?: string | null,
): void {
  if (encoding && !/^utf-?8$/i.test(encoding)) return;
  (req as BodyRequest).rawBody = buf;
}

function bodyOfHost(req: BodyRequest, maxBytes: number): ParsedBody {
  const { body, rawBody } = req;
  if (Buffer.isBuffer(rawBody)) return parseBody(within(rawBody, maxBytes));
  if (Buffer.isBuffer(body)) return parseBody(within(body, maxBytes));
  if (typeof body === 'string') return parseBody(within(Buffer.from(body), maxBytes));
  if (body !== undefined) {
    const parsed = bodyFromValue(body);
    if (parsed.length > maxBytes) throw tooLarge(maxBytes);
    return parsed;
  }
  if (req.readableAborted) throw new ClientGoneError();
  throw new NarwhalError(
    'internal',
    'the request body was read before this middleware and not kept: ' +
      'mount it before the other reader, or use express.json() with narwhalRouter.rawBody',
  );
}

function within(bytes: Buffer, maxBytes: number): Buffer {
  if (bytes.length > maxBytes) throw tooLarge(maxBytes);
  return bytes;
}

/** All bytes of the stream, as they came. Leaves no listener behind, however it ends. */
function readStream(req: IncomingMessage, maxBytes: number): Promise<Buffer[]> {
  const { socket } = req;
  if (req.destroyed || socket.destroyed) return Promise.reject(new ClientGoneError());
  if (Number(req.headers['content-length']) > maxBytes) return Promise.reject(tooLarge(maxBytes));
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const stop = () => {
      req.off('data', onData).off('end', onEnd).off('error', onGone).off('close', onGone);
      socket.off('close', onGone);
    };
    const onData = (data: Buffer | string) => {
      // Strings come where the host has called `setEncoding`.
      const chunk = typeof data === 'string' ? Buffer.from(data, req.readableEncoding ?? 'utf8') : data;
      chunks.push(chunk);
      size += chunk.length;
      if (size <= maxBytes) return;
      stop();
      reject(tooLarge(maxBytes));
    };
    const onEnd = () => {
      stop();
      resolve(chunks);
    };
    const onGone = () => {
      stop();
      reject(new ClientGoneError());
    };
    req.on('data', onData).on('end', onEnd).on('error', onGone).on('close', onGone);
    // Once an answer is out (a timeout of the host's, say) the request itself closes no more.
    socket.on('close', onGone);
    // A host that paused the stream (to authenticate, say) stops it from flowing by itself.
    req.resume();
  });
}
