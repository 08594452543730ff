/** How the end of an answer's body is told, and what becomes of its connection. RFC 9112, sections 6 and 9.3. */
import type { RawHeaders } from './raw-headers';
import { ResponseError } from './response-error';

/** In place of a length: the body comes in chunks. */
export const CHUNKED = -1;
/** In place of a length: the body goes on until the connection ends. */
export const UNTIL_CLOSE = Number.POSITIVE_INFINITY;

/**
 * @returns bytes of the body, or one of the two constants above.
 * @throws {ResponseError} where it is told twice, or in a way that is not known here.
 */
export function answerLength(status: number, headers: RawHeaders): number {
  if (status === 204 || status === 304) return 0;
  const coding = headers.only('transfer-encoding');
  const length = headers.only('content-length');
  if (coding !== null) {
    if (length !== null) throw new ResponseError('a body with two lengths');
    if (coding.toLowerCase() !== 'chunked') throw new ResponseError('an unknown transfer encoding');
    return CHUNKED;
  }
  if (length === null) return UNTIL_CLOSE;
  if (!/^\d{1,15}$/.test(length)) throw new ResponseError('a content length that is none');
  return Number(length);
}

/** @param isNewer HTTP/1.1, not 1.0. @returns whether the connection may carry another call after the body. */
export function staysOpen(status: number, isNewer: boolean, headers: RawHeaders): boolean {
  if (headers.says('connection', 'close')) return false;
  // A 204 that announces a body may well send it: it would be read as the next answer.
  if (status === 204 && announcesBody(headers)) return false;
  if (isNewer) return true;
  // Version 1.0 knows no chunks: who sends them there may have been understood otherwise on the way.
  return headers.says('connection', 'keep-alive') && headers.get('transfer-encoding') === null;
}

function announcesBody(headers: RawHeaders): boolean {
  return headers.get('transfer-encoding') !== null || (headers.get('content-length') ?? '0') !== '0';
}
