/** What an error of a connection means. */
import type { TransportFailure } from './transport';
import { ClosedError, ConnectTimeoutError } from './wire/connection';
import { ResponseError } from './wire/response-error';

/** The pools were closed while a call ran, or before it began. */
export class PoolsClosedError extends Error {
  override readonly name = 'PoolsClosedError';

  constructor() {
    super('the connection pools are closed');
  }
}

function codeOf(error: Error): string {
  const { code } = error as NodeJS.ErrnoException;
  return typeof code === 'string' ? code : '';
}

/** The connection broke, rather than the answer. */
export function isSocketLoss(error: Error): boolean {
  return error instanceof ClosedError || ['ECONNRESET', 'EPIPE'].includes(codeOf(error));
}

const NEVER_CONNECTED = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
  'EHOSTDOWN',
  'ERR_SSL_WRONG_VERSION_NUMBER',
  'ERR_SSL_PACKET_LENGTH_TOO_LONG',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'CERT_NOT_YET_VALID',
  'CERT_HAS_EXPIRED',
  'ERR_TLS_CERT_ALTNAME_INVALID',
]);

/** Sorts an error of a connection; only its code and message are taken. */
export function describe(error: Error): [TransportFailure, string] {
  if (error instanceof ConnectTimeoutError) return ['connect_timeout', error.message];
  if (error instanceof PoolsClosedError) return ['closed', error.message];
  if (error instanceof ResponseError) return ['answer', error.message];
  const code = codeOf(error) || codeOf((error as { errors?: Error[] }).errors?.[0] ?? error);
  const text = code === '' ? error.message : `${code}: ${error.message || 'connect failed'}`;
  // The same codes come from a connection whose peer is lost in the middle of an answer.
  const { syscall } = error as NodeJS.ErrnoException;
  if (syscall === 'read' || syscall === 'write') return ['connection', text];
  if (code === 'ETIMEDOUT') return ['connect_timeout', text];
  return [NEVER_CONNECTED.has(code) ? 'unreachable' : 'connection', text];
}
