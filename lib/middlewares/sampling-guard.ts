/** Is it one sequence: the one-token prefill and the decode must share one sampling width. */
import { createBodyChecks } from '../request/schema';
import { BODY_GUARD_KEYS, type BodyGuardOptions, bodyGuard } from './body-guard';
import type { NarwhalHandler } from './handler';

/** Options of `samplingGuard`. */
export type SamplingGuardOptions = BodyGuardOptions;

/**
 * Refuses, with 400 naming the field, `n` and `best_of` other than 1 and `use_beam_search: true`.
 *
 * @example
 * ```ts
 * import express from 'express';
 * import { samplingGuard } from 'express-narwhal';
 *
 * express().use(samplingGuard({ onError: 'next' }));
 * ```
 *
 * @throws {ConfigError} for bad options.
 */
export function samplingGuard(options?: SamplingGuardOptions): NarwhalHandler {
  const checks = createBodyChecks();
  return bodyGuard('samplingGuard', options, BODY_GUARD_KEYS, (body) =>
    checks.checkSamplingWidth(body.outline),
  );
}
