/** Options of `narwhalRouter`. */
import type { AxiosInstance } from 'axios';
import type { Fleet } from './engines/fleet';
import { ConfigError } from './errors';
import type { MetricsRegistry } from './inspection/metrics';
import type { InspectionOptions } from './inspection/options';
import type { JournalOptions } from './journal/journal';
import type { Logger } from './logger';
import type { AdmissionGateOptions } from './middlewares/admission-options';
import type { ApiKeys } from './middlewares/api-keys';
import type { Authenticate, AuthStripOptions } from './middlewares/auth-strip';
import type { DispatchEngineOptions } from './middlewares/dispatch-engine';
import type { ModelGuardOptions } from './middlewares/model-guard';
import type { OutputGuardOptions } from './middlewares/output-guard';
import type { SamplingGuardOptions } from './middlewares/sampling-guard';
import type { ValidateCompletionOptions } from './middlewares/validate-completion';
import { checkAll } from './options';

/** Options of `narwhalRouter`; all may be left out. */
export interface NarwhalRouterOptions {
  /** Path or content of a fleet file, or a fleet of `createFleet`. Default: `NARWHAL_FLEET`, else `./fleet.json`. */
  readonly fleet?: string | object | Fleet | undefined;
  /** Where rows go. Default: `./narwhal-journal.jsonl`. */
  readonly journal?: JournalOptions | undefined;
  /** Keys that clients may present, or key to identity. Default: none. */
  readonly apiKeys?: ApiKeys | undefined;
  /** The host's own check of who a request is from; excludes `apiKeys`. Default: none, every request passes. */
  readonly authenticate?: Authenticate | undefined;
  /** Told of faults that an operator must act on. Default: a winston logger that writes warnings to standard error. */
  readonly logger?: Logger | undefined;
  /** The axios instance for engine calls; its transport stays the library's. Default: a new instance. */
  readonly client?: AxiosInstance | undefined;
  /** A prom-client registry for the series. Default: the router's own; false for none. */
  readonly metrics?: MetricsRegistry | false | undefined;
  /** False leaves the host's OpenTelemetry alone. Default: used where it is set up. */
  readonly telemetry?: boolean | undefined;
  /** Who may see the private pages, or false for none. Default: connections from loopback. */
  readonly inspection?: InspectionOptions | false | undefined;
  /** Seconds for which `close()` lets running requests go on. Default 30. */
  readonly closeTimeoutS?: number | undefined;

  /** Options of the middleware, or false: the host has authenticated. Default: on. */
  readonly authStrip?: AuthStripOptions | false | undefined;
  /** Options of the middleware, or false. Default: on. */
  readonly validateCompletion?: ValidateCompletionOptions | false | undefined;
  /** Options of the middleware, or false. Default: on, for the model of the fleet file. */
  readonly modelGuard?: Partial<ModelGuardOptions> | false | undefined;
  /** Options of the middleware, or false. Default: on. */
  readonly samplingGuard?: SamplingGuardOptions | false | undefined;
  /** Options of the middleware, or false. Default: on. */
  readonly outputGuard?: OutputGuardOptions | false | undefined;
  /** Options of the middleware, or false. Default: on, with the limits of the fleet file. */
  readonly admissionGate?: Omit<AdmissionGateOptions, 'fleet' | 'logger'> | false | undefined;
  /** Options of the middleware; false leaves serving to what the host has mounted behind the router. Default: on. */
  readonly dispatchEngine?: Omit<DispatchEngineOptions, 'fleet' | 'logger'> | false | undefined;
}

/** Every key of `NarwhalRouterOptions`. */
export const ROUTER_KEYS = [
  'fleet',
  'journal',
  'apiKeys',
  'authenticate',
  'logger',
  'client',
  'metrics',
  'telemetry',
  'inspection',
  'closeTimeoutS',
  'authStrip',
  'validateCompletion',
  'modelGuard',
  'samplingGuard',
  'outputGuard',
  'admissionGate',
  'dispatchEngine',
] as const satisfies readonly (keyof NarwhalRouterOptions)[];

const MIDDLEWARES = [
  'authStrip',
  'validateCompletion',
  'modelGuard',
  'samplingGuard',
  'outputGuard',
  'admissionGate',
  'dispatchEngine',
] as const satisfies readonly (keyof NarwhalRouterOptions)[];

/** @throws {ConfigError} for a middleware that is given neither options nor false. */
export function checkMiddlewareOptions(given: Partial<NarwhalRouterOptions>): void {
  const check = (name: (typeof MIDDLEWARES)[number]) => (): void => {
    const value: unknown = given[name];
    if (value === undefined || value === false) return;
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw new ConfigError(`narwhalRouter: ${name} must be an object of options, or false`);
    }
  };
  checkAll('narwhalRouter', Object.fromEntries(MIDDLEWARES.map((name) => [name, check(name)])));
}
