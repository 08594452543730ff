/** What an error of undici or of a socket means. */
import type { TransportFailure } from './transport';

function codeOf(error: Error): string {
  const { code } = error as NodeJS.ErrnoException;
  return typeof code === 'string' ? code : '';
}

/** The connection broke, rather than the answer. */
export function isSocketLoss(error: Error): boolean {
  return ['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'].includes(codeOf(error));
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
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'CERT_HAS_EXPIRED',
  'ERR_TLS_CERT_ALTNAME_INVALID',
]);

/** Sorts an undici or socket error; only its code and message are taken, never its config. */
export function describe(error: Error): [TransportFailure, string] {
  const code = codeOf(error) || codeOf((error as { errors?: Error[] }).errors?.[0] ?? error);
  const text = code === '' ? error.message : `${code}: ${error.message || 'connect failed'}`;
  if (code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ETIMEDOUT') return ['connect_timeout', text];
  if (NEVER_CONNECTED.has(code)) return ['unreachable', text];
  if (code === 'UND_ERR_DESTROYED' || code === 'UND_ERR_CLOSED') return ['closed', text];
  if (code.startsWith('HPE_')) return ['answer', text];
  return ['connection', text];
}
