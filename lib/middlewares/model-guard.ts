/** Is it a model that is served here. */
import { ConfigError } from '../errors';
import { createBodyChecks } from '../request/schema';
import { BODY_GUARD_KEYS, type BodyGuardOptions, bodyGuard } from './body-guard';
import type { NarwhalHandler } from './handler';

/** Options of `modelGuard`. */
export interface ModelGuardOptions extends BodyGuardOptions {
  /** Names of the models that are served; at least one. A request that names no model passes. */
  readonly models: readonly string[];
}

const KEYS = [...BODY_GUARD_KEYS, 'models'] as const;

/**
 * Refuses, with 404 `model_not_found`, a request for another model.
 *
 * @example
 * ```ts
 * import express from 'express';
 * import { modelGuard } from 'express-narwhal';
 *
 * express().use(modelGuard({ models: ['example/model', 'example/alias'], maxBytes: 1024 * 1024 }));
 * ```
 *
 * @throws {ConfigError} without models, or for bad options.
 */
export function modelGuard(options: ModelGuardOptions): NarwhalHandler {
  const models: unknown = options?.models;
  if (
    !Array.isArray(models) ||
    models.length === 0 ||
    models.some((name) => typeof name !== 'string' || name === '')
  ) {
    throw new ConfigError(
      "modelGuard: models must list at least one model name, e.g. { models: ['example/model'] }",
    );
  }
  const served: readonly string[] = [...models];
  const checks = createBodyChecks();
  return bodyGuard('modelGuard', options, KEYS, (body) => checks.checkModel(body.outline, served));
}
