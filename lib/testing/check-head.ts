import type { BreachLog } from './breach-log';
import type { StubCall } from './stub-call';

const ALLOWED = new Set([
  'host',
  'connection',
  'content-type',
  'content-length',
  'transfer-encoding',
  'accept',
  'accept-encoding',
  'user-agent',
  'x-request-id',
  'authorization',
  'traceparent',
  'tracestate',
]);

/** Checks what a router may send besides the body: an allow list of headers, and no query string. */
export function checkHead(call: StubCall, log: BreachLog): void {
  for (const name of Object.keys(call.headers)) {
    if (!ALLOWED.has(name)) log.add('header', call, `header ${name} does not belong on an engine call`);
  }
  if (call.query !== '') log.add('query', call, `query string ${call.query} on ${call.path}`);
}

/**
 * Checks that a completion call has a request id that no call had before it.
 *
 * @param seen ids so far; this call's id is added
 */
export function checkRequestId(call: StubCall, seen: Set<string>, log: BreachLog): void {
  if (call.requestId === '') {
    log.add('request-id-missing', call, `${call.path} without x-request-id`);
    return;
  }
  if (seen.has(call.requestId)) log.add('request-id-repeated', call, 'x-request-id seen before');
  seen.add(call.requestId);
}
