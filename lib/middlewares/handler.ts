/** What every middleware of this package is made of: its type, its entry, its refusal. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { openContext, type RequestContext } from '../context';
import { ClientGoneError, isNarwhalError, NarwhalError } from '../errors';
import { checkChoice } from '../options';

/**
 * An Express middleware, typed on Node's own request and response: it fits Express 4 and 5, whichever
 * version of their types the host has.
 */
export type NarwhalHandler = (
  req: IncomingMessage,
  res: ServerResponse,
  next: (error?: unknown) => void,
) => void;

/** What a middleware does with an error: answer it, or hand it to the host's error handler. */
export type OnError = 'answer' | 'next';

/** The option that every refusing middleware has. */
export interface RefusalOptions {
  /** `answer` (default) sends the envelope; `next` calls `next(error)` with `status` and `headers`. */
  readonly onError?: OnError | undefined;
}

/** @throws {ConfigError} for another word. */
export function checkOnError(owner: string, value: unknown): OnError {
  return value === undefined ? 'answer' : checkChoice(`${owner}: onError`, value, ['answer', 'next']);
}

/** Opens the request's context and puts the router's id on the response. */
export function enter(req: IncomingMessage, res: ServerResponse): RequestContext {
  const context = openContext(req);
  if (context.isMarked || res.headersSent) return context;
  context.isMarked = true;
  res.setHeader('x-request-id', context.requestId);
  return context;
}

/**
 * Ends a request with an error, in the one form that it has everywhere.
 *
 * A client that has gone gets nothing; an error that the library does not know becomes a 500 whose text
 * says nothing of it.
 */
export function refuse(
  context: RequestContext,
  res: ServerResponse,
  next: (error?: unknown) => void,
  error: unknown,
  onError: OnError,
): void {
  if (error instanceof ClientGoneError) return;
  const known = toNarwhalError(error);
  context.settleError(known, res.headersSent ? res.statusCode : known.status);
  if (onError === 'next' && !res.headersSent) next(known);
  else sendError(res, known);
}

/** Any error as one of the library's. */
export function toNarwhalError(error: unknown): NarwhalError {
  if (isNarwhalError(error)) return error;
  const detail =
    error instanceof Error ? `${error.name}: ${error.message}` : 'a value that is no Error was thrown';
  return new NarwhalError('internal', 'the gateway failed', { detail, cause: error });
}

/** Writes the envelope. Nothing is written where an answer has begun: the host must not be killed by it. */
export function sendError(res: ServerResponse, error: NarwhalError): void {
  if (res.headersSent || res.destroyed) return;
  for (const [name, value] of Object.entries(error.headers)) res.setHeader(name, value);
  const body = JSON.stringify(error);
  res.statusCode = error.status;
  res.setHeader('x-narwhal-reason', error.reason);
  res.setHeader('content-type', 'application/json');
  res.setHeader('content-length', Buffer.byteLength(body));
  res.end(body);
}
