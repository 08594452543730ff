/** Is the body a completion request: JSON, an object, its fields of the right types. */
import { ConfigError } from '../errors';
import { checkChoice } from '../options';
import { guessRoute } from '../request/route';
import { createBodyChecks, type Route } from '../request/schema';
import { BODY_GUARD_KEYS, type BodyGuardOptions, bodyGuard } from './body-guard';
import type { NarwhalHandler } from './handler';

/** Options of `validateCompletion`. */
export interface ValidateCompletionOptions extends BodyGuardOptions {
  /** Which route's required fields hold. Default: told by the path, else by the body. */
  readonly route?: Route | undefined;
  /**
   * Whether a missing prompt is refused here. Default true. `false` leaves it to `dispatchEngine`, so
   * that guards in between are asked first, as in `narwhalRouter`.
   */
  readonly requireInput?: boolean | undefined;
}

const KEYS = [...BODY_GUARD_KEYS, 'route', 'requireInput'] as const;

/**
 * Reads the body if nobody has, parses it once and checks its fields.
 *
 * Refuses with 400 (JSON, shape, field types, reserved fields, missing prompt), 413 or 415. Leaves the
 * parsed value in `req.body`.
 *
 * @example
 * ```ts
 * import express from 'express';
 * import { validateCompletion } from 'express-narwhal';
 *
 * const app = express();
 * app.post('/ask', validateCompletion({ route: 'chat' }), (req, res) => {
 *   res.json({ messages: req.body.messages.length });
 * });
 * ```
 *
 * @throws {ConfigError} for bad options.
 */
export function validateCompletion(options?: ValidateCompletionOptions): NarwhalHandler {
  const checks = createBodyChecks();
  const route = options?.route === undefined ? null : checkRoute(options.route);
  const requireInput = options?.requireInput === undefined ? true : options.requireInput;
  if (typeof requireInput !== 'boolean') {
    throw new ConfigError('validateCompletion: requireInput must be a boolean');
  }
  return bodyGuard('validateCompletion', options, KEYS, (body, context) => {
    const { outline } = body;
    const refusal = checks.checkFieldTypes(outline) ?? checks.checkReserved(outline);
    if (refusal !== null || !requireInput) return refusal;
    return checks.checkRequired(outline, route ?? guessRoute(context.route, body));
  });
}

function checkRoute(route: unknown): Route {
  return checkChoice('validateCompletion: route', route, ['completion', 'chat']);
}
