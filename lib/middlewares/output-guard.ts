/** Can the answer be assembled: output options of requests that do not stream. */
import { createBodyChecks } from '../request/schema';
import { BODY_GUARD_KEYS, type BodyGuardOptions, bodyGuard } from './body-guard';
import type { NarwhalHandler } from './handler';

/** Options of `outputGuard`. */
export type OutputGuardOptions = BodyGuardOptions;

/**
 * Refuses, with 400 naming the option, what a non-streaming answer could not carry without loss: audio,
 * modalities other than text, tools that are not functions. Streams pass: their bytes go on as they are.
 *
 * @example
 * ```ts
 * import express from 'express';
 * import { outputGuard } from 'express-narwhal';
 *
 * express().use(outputGuard());
 * ```
 *
 * @throws {ConfigError} for bad options.
 */
export function outputGuard(options?: OutputGuardOptions): NarwhalHandler {
  const checks = createBodyChecks();
  return bodyGuard('outputGuard', options, BODY_GUARD_KEYS, (body) =>
    checks.checkOutputOptions(body.outline),
  );
}
