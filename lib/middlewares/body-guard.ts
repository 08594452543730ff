/** The shape of every middleware that looks at the body: read it once, check it, let it pass. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RequestContext } from '../context';
import type { NarwhalError } from '../errors';
import { checkNumber, checkOptions } from '../options';
import type { ParsedBody } from '../request/parsed-body';
import { readBody } from '../request/read-body';
import { checkOnError, enter, type NarwhalHandler, type RefusalOptions, refuse } from './handler';
import { leaveBody } from './leave-body';

type Next = (error?: unknown) => void;

/** Options of every middleware that needs the body. */
export interface BodyGuardOptions extends RefusalOptions {
  /** Largest body in bytes, after inflating. Default 4 MiB. Counts where this middleware is the first to read. */
  readonly maxBytes?: number | undefined;
}

/** Keys of `BodyGuardOptions`. */
export const BODY_GUARD_KEYS = ['maxBytes', 'onError'] as const;

/** Default of `serving.max_request_bytes`. */
export const DEFAULT_MAX_BYTES = 4 * 1024 * 1024;

/**
 * Builds a guard.
 *
 * @param name the factory's name, for messages about options.
 * @param check returns the refusal, or null to let the request pass.
 * @throws {ConfigError} for bad options.
 */
export function bodyGuard<T extends BodyGuardOptions>(
  name: string,
  options: T | undefined,
  keys: readonly (keyof T & string)[],
  check: (body: ParsedBody, context: RequestContext) => NarwhalError | null,
): NarwhalHandler {
  const given = checkOptions(name, options, keys) as BodyGuardOptions;
  const { maxBytes = DEFAULT_MAX_BYTES } = given;
  checkNumber(`${name}: maxBytes`, maxBytes, { min: 1, integer: true });
  const onError = checkOnError(name, given.onError);
  return function guard(req, res, next) {
    const context = enter(req, res);
    const { body } = context;
    if (body !== null) {
      pass(context, body, res, next);
      return;
    }
    bodyOf(req, context, maxBytes).then(
      (read) => pass(context, read, res, next),
      (error: unknown) => refuse(context, res, next, error, onError),
    );
  };

  function pass(context: RequestContext, body: ParsedBody, res: ServerResponse, next: Next): void {
    try {
      const refusal = check(body, context);
      if (refusal === null) next();
      else refuse(context, res, next, refusal, onError);
    } catch (error) {
      refuse(context, res, next, error, onError);
    }
  }
}

/** Reads the body once per request and leaves its parsed value in `req.body`. */
export function bodyOf(req: IncomingMessage, context: RequestContext, maxBytes: number): Promise<ParsedBody> {
  if (context.reading !== null) return context.reading;
  const since = performance.now();
  context.reading = readBody(req, { maxBytes }).then((body) => {
    context.record.waited(since);
    context.body = body;
    leaveBody(req, body);
    return body;
  });
  return context.reading;
}
