/** Where clients put credentials, and how they are taken out. */
import type { IncomingMessage } from 'node:http';

/** Headers that prove who a client is. */
const CREDENTIALS = [
  'authorization',
  'proxy-authorization',
  'x-api-key',
  'api-key',
  'x-goog-api-key',
  'cookie',
];

/** Headers that only gateways may set: routing, fairness and identity of the hops behind us. */
const INTERNAL =
  /^(x-narwhal-|x-gateway-|x-llm-d-|x-prefill|x-encoder-hosts|x-data-parallel|x-vllm-|x-worker-instance|x-dp-rank|x-dynamo-|x-slo-|x-session-)/;

/**
 * The key that a request presents.
 *
 * @returns the token of `Authorization: Bearer` (the scheme in any case, any number of blanks), else
 *   `x-api-key` or `api-key`; null where there is none.
 */
export function presentedKey({ headers }: IncomingMessage): string | null {
  const { authorization } = headers;
  if (authorization !== undefined) return /^bearer +(\S+) *$/i.exec(authorization)?.[1] ?? null;
  const key = headers['x-api-key'] ?? headers['api-key'];
  return typeof key === 'string' && key !== '' ? key : null;
}

/** Removes credentials and internal headers from what later handlers see. Calling it twice is harmless. */
export function stripCredentials({ headers }: IncomingMessage): void {
  for (const name of CREDENTIALS) delete headers[name];
  for (const name of Object.keys(headers)) if (INTERNAL.test(name)) delete headers[name];
}
