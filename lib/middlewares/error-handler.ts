/** Errors of the library, of body parsers and of the host, as one envelope. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isNarwhalError, NarwhalError } from '../errors';
import type { OutcomeName } from '../outcomes';
import { enter, sendError, toNarwhalError } from './handler';

/** An Express error handler. */
export type NarwhalErrorHandler = (
  error: unknown,
  req: IncomingMessage,
  res: ServerResponse,
  next: (error?: unknown) => void,
) => void;

/** body-parser's error types (its README, section "Errors") and what they are here. */
const PARSER_ERRORS: Readonly<Record<string, readonly [OutcomeName, string]>> = {
  'entity.too.large': ['bodyTooLarge', 'the request body is larger than the gateway takes'],
  'parameters.too.many': ['bodyTooLarge', 'the request body is larger than the gateway takes'],
  'entity.parse.failed': ['badJson', 'the request body is not valid JSON'],
  'entity.verify.failed': ['badJson', 'the request body was refused'],
  'request.size.invalid': ['badEncoding', 'the request body does not match its content length'],
  'encoding.unsupported': ['unknownEncoding', 'the content encoding is not supported'],
  'charset.unsupported': ['unknownEncoding', 'the charset is not supported: use UTF-8'],
  'request.aborted': ['badEncoding', 'the request body ended early'],
};

/**
 * Error middleware for the end of a host's chain: answers with the envelope.
 *
 * Library errors keep their status and headers; body-parser errors get theirs; any other error is a 500
 * whose text says nothing of it. Once an answer has begun the error goes to the next handler.
 *
 * @example
 * ```ts
 * import express from 'express';
 * import { narwhalErrorHandler, narwhalRouter } from 'express-narwhal';
 *
 * const app = express();
 * app.use(express.json({ verify: narwhalRouter.rawBody }), narwhalRouter());
 * app.use(narwhalErrorHandler());
 * ```
 */
export function narwhalErrorHandler(): NarwhalErrorHandler {
  return function handleNarwhalError(error, req, res, next) {
    if (res.headersSent) {
      next(error);
      return;
    }
    // The host's parser reports a client that left: there is nobody to answer, and `close` is the end.
    if (isAborted(error) && req.socket.destroyed) return;
    const context = enter(req, res);
    const known = translate(error);
    context.settleError(known, known.status);
    sendError(res, known);
  };
}

function translate(error: unknown): NarwhalError {
  if (isNarwhalError(error)) return error;
  const parser = parserError(error);
  return parser === undefined
    ? toNarwhalError(error)
    : new NarwhalError(parser[0], parser[1], { cause: error });
}

function isAborted(error: unknown): boolean {
  return error instanceof Error && 'type' in error && error.type === 'request.aborted';
}

function parserError(error: unknown): readonly [OutcomeName, string] | undefined {
  if (!(error instanceof Error) || !('type' in error) || typeof error.type !== 'string') return undefined;
  return Object.hasOwn(PARSER_ERRORS, error.type) ? PARSER_ERRORS[error.type] : undefined;
}
