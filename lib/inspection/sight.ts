/** What a router shows of its work beside the journal: metrics and telemetry, as observers of its requests. */
import type { Fleet } from '../engines/fleet';
import { ConfigError } from '../errors';
import type { Logger } from '../logger';
import type { RequestObserver } from '../middlewares/journal-record';
import { type MetricsRegistry, type RouterMetrics, registryOf, routerMetrics } from './metrics';
import { loadOtel } from './otel';
import { Guard, safeObserver } from './safe-observer';
import type { RouterState } from './state';
import { Telemetry } from './telemetry';

/** The router's options for it. */
export interface SightOptions {
  readonly metrics?: MetricsRegistry | false | undefined;
  readonly telemetry?: boolean | undefined;
}

/** What it looks at. */
export interface SightParts {
  readonly fleet: Fleet;
  readonly logger: Logger;
  readonly state: () => RouterState;
}

/** Metrics and telemetry of one router. */
export interface Sight {
  readonly metrics: RouterMetrics | null;
  readonly observers: readonly RequestObserver[];
}

/** @throws {ConfigError} for bad options. Nothing is put into a registry of the host yet. */
export function sightOf({ metrics: option, telemetry = true }: SightOptions, parts: SightParts): Sight {
  const { fleet, logger, state } = parts;
  const registry = registryOf(option);
  if (typeof telemetry !== 'boolean') throw new ConfigError('narwhalRouter: telemetry must be true or false');
  const guard = new Guard(logger);
  const metrics = registry === null ? null : routerMetrics(registry, fleet, state);
  const observers: RequestObserver[] = [];
  if (metrics !== null) observers.push(safeObserver(metrics.requests, guard));
  const api = telemetry ? loadOtel() : null;
  if (api !== null) {
    const { model, engine } = fleet.config;
    const subject = { model, provider: engine.dialect };
    observers.push(safeObserver(new Telemetry(api, subject, guard), guard));
  }
  return { metrics, observers };
}
