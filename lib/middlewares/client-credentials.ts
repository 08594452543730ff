/** Where clients put credentials, and how they are taken out. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';

/** Headers that prove who a client is. */
const CREDENTIALS: ReadonlySet<string> = new Set([
  'authorization',
  'proxy-authorization',
  'x-api-key',
  'api-key',
  'x-goog-api-key',
  'cookie',
]);

/** Headers that only gateways may set: routing, fairness and identity of the hops behind us. */
const INTERNAL =
  /^(x-narwhal-|x-gateway-|x-llm-d-|x-prefill|x-encoder-hosts|x-data-parallel|x-vllm-|x-worker-instance|x-dp-rank|x-dynamo-|x-slo-|x-session-)/;

const LETTER_X = 0x78;

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

/**
 * Removes credentials and internal headers from what later handlers see, in each of the forms that Node
 * keeps headers in: from `headers`, and their values from `rawHeaders`. Calling it twice is harmless.
 */
export function stripCredentials(req: IncomingMessage): void {
  const { headers, rawHeaders } = req;
  // A copy without them: `delete` would make every later look at the headers a slow one (3 us in all).
  const kept: IncomingHttpHeaders = {};
  let found = false;
  for (const name in headers) {
    if (isSecret(name)) found = true;
    else kept[name] = headers[name];
  }
  if (!found) return;
  req.headers = kept;
  // Names stay: Node derives `headersDistinct` from this list on first use, and throws where it is shorter.
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (isSecret(rawHeaders[at]!.toLowerCase())) rawHeaders[at + 1] = '';
  }
}

function isSecret(name: string): boolean {
  // The first letter tells most names apart without a search.
  return CREDENTIALS.has(name) || (name.charCodeAt(0) === LETTER_X && INTERNAL.test(name));
}
