/** Is there a prompt: the last check before a request is admitted. */
import { guessRoute } from '../request/route';
import { checkRequired } from '../request/schema';
import { BODY_GUARD_KEYS, type BodyGuardOptions, bodyGuard } from './body-guard';
import type { NarwhalHandler } from './handler';

/**
 * Refuses, with 400 naming the field, a request without the prompt that its route needs. The router asks
 * this after its guards; alone, `validateCompletion` and `dispatchEngine` ask it themselves.
 */
export function requireInput(options: BodyGuardOptions): NarwhalHandler {
  return bodyGuard('requireInput', options, BODY_GUARD_KEYS, (body, context) =>
    checkRequired(body.outline, guessRoute(context.route, body)),
  );
}
