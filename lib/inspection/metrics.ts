/** `GET /metrics`: the series of one router in a registry, its own or the host's. */
import { type Metric, Registry } from 'prom-client';
import type { Fleet } from '../engines/fleet';
import { ConfigError } from '../errors';
import { RequestMetrics } from './request-metrics';
import { SERIES } from './series';
import type { RouterState } from './state';
import { stateSeries } from './state-metrics';

/** What is needed of a registry; one of another copy of prom-client will do. */
export interface MetricsRegistry {
  /** Content type of `metrics()`. */
  readonly contentType: string;
  /** All series as text. */
  metrics(): Promise<string>;
  /** Puts a series in. */
  registerMetric(metric: Metric): void;
  /** The series of this name, or undefined. */
  getSingleMetric(name: string): unknown;
  /** Takes a series out. */
  removeSingleMetric(name: string): void;
}

const FUNCTIONS = ['metrics', 'registerMetric', 'getSingleMetric', 'removeSingleMetric'] as const;

/** The series of one router. */
export interface RouterMetrics {
  /** Counts the requests that are over. */
  readonly requests: RequestMetrics;
  /** The answer of `GET /metrics`: the whole registry. */
  text(): Promise<string>;
  readonly contentType: string;
  /** Puts the series into the registry. */
  register(): void;
  /** Takes them out of it again. */
  close(): void;
}

/**
 * The registry that the option names: the host's, or a new one.
 *
 * @returns null for false.
 * @throws {ConfigError} for what is no registry, and for one that has the series of another router.
 */
export function registryOf(option: MetricsRegistry | false | undefined): MetricsRegistry | null {
  if (option === false) return null;
  if (option === undefined) return new Registry();
  const isRegistry =
    typeof option === 'object' &&
    option !== null &&
    FUNCTIONS.every((name) => typeof (option as Partial<MetricsRegistry>)[name] === 'function');
  if (!isRegistry) throw new ConfigError('narwhalRouter: metrics must be a prom-client registry, or false');
  const taken = Object.keys(SERIES).find((name) => option.getSingleMetric(name) !== undefined);
  if (taken === undefined) return option;
  throw new ConfigError(
    `narwhalRouter: metrics: this registry has ${taken} already; give each router a registry of its own`,
  );
}

/** Makes the series; `register()` puts them into the registry. */
export function routerMetrics(
  registry: MetricsRegistry,
  fleet: Fleet,
  state: () => RouterState,
): RouterMetrics {
  const requests = new RequestMetrics(fleet.config);
  const all = [...requests.series(), ...stateSeries(state)];
  return {
    requests,
    text: () => registry.metrics(),
    get contentType() {
      return registry.contentType;
    },
    register() {
      for (const one of all) registry.registerMetric(one);
    },
    close() {
      for (const name of Object.keys(SERIES)) registry.removeSingleMetric(name);
    },
  };
}
