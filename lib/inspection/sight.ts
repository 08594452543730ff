/** What a router shows of its work beside the journal: metrics, telemetry, the fleet page: observers of its requests. */
import type { SeatLimits } from '../admission/seats';
import type { Fleet } from '../engines/fleet';
import { ConfigError } from '../errors';
import type { Logger } from '../logger';
import type { RequestObserver } from '../middlewares/journal-record';
import { type MetricsRegistry, type RouterMetrics, registryOf, routerMetrics } from './metrics';
import type { InspectionOptions } from './options';
import { loadOtel } from './otel';
import { FleetPage } from './page/fleet-page';
import { Guard, safeObserver } from './safe-observer';
import type { RouterState } from './state';
import { Telemetry } from './telemetry';

/** The router's options for it. */
export interface SightOptions {
  readonly metrics?: MetricsRegistry | false | undefined;
  readonly telemetry?: boolean | undefined;
  readonly inspection?: InspectionOptions | false | undefined;
}

/** What it looks at. */
export interface SightParts {
  readonly fleet: Fleet;
  readonly logger: Logger;
  readonly state: () => RouterState;
  readonly seats: SeatLimits;
}

/** Metrics, telemetry and page of one router. */
export interface Sight {
  readonly metrics: RouterMetrics | null;
  /** Null where the option does not turn it on. */
  readonly page: FleetPage | null;
  readonly observers: readonly RequestObserver[];
  /** A `close` that ends the page first: whoever watches must not hold up the end of the host's server. */
  endBefore(close: () => Promise<void>): () => Promise<void>;
}

/** @throws {ConfigError} for bad options. Nothing is put into a registry of the host yet. */
export function sightOf(options: SightOptions, parts: SightParts): Sight {
  const { metrics: option, telemetry = true, inspection } = options;
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
  const page = isPageOn(inspection) ? new FleetPage({ ...parts, guard }) : null;
  if (page !== null) observers.push(safeObserver(page.observer, guard));
  return {
    metrics,
    page,
    observers,
    endBefore: (close) => () => {
      page?.close();
      return close();
    },
  };
}

function isPageOn(inspection: SightOptions['inspection']): boolean {
  const page: unknown = inspection === false ? false : (inspection?.page ?? false);
  if (typeof page === 'boolean') return page;
  throw new ConfigError('inspection: page must be true or false');
}
