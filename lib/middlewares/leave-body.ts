/** The parsed body where hosts look for it. */
import type { IncomingMessage } from 'node:http';
import { openContext } from '../context';
import type { ParsedBody } from '../request/parsed-body';
import type { BodyRequest } from '../request/read-body';

/**
 * Leaves the value of the body in `req.body`. It is parsed when somebody looks at it, which nobody does who lets
 * the router serve the request; and it is the host's alone, so that a change to it changes nothing that is checked
 * or sent, of long bodies and of short ones.
 */
export function leaveBody(req: IncomingMessage, body: ParsedBody): void {
  const holder = req as BodyRequest & { _body?: boolean };
  if (body.hasValue) holder.body = body.value;
  else Object.defineProperty(holder, 'body', PARSED_LATE);
  // Keeps a parser of Express 4 that is mounted behind us from reading once more.
  holder._body = true;
}

/** One pair of functions for all requests, so that their objects keep one shape. */
const PARSED_LATE = {
  configurable: true,
  enumerable: true,
  get(this: BodyRequest): unknown {
    return openContext(this).body?.value;
  },
  set(this: BodyRequest, value: unknown) {
    Object.defineProperty(this, 'body', { configurable: true, enumerable: true, writable: true, value });
  },
};
