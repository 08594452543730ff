/** Options of `admissionGate`, and what they stand for. */
import { Admission } from '../admission/admission';
import type { LimitStore } from '../admission/limits';
import { MemoryStore } from '../admission/memory-store';
import { type SeatLimits, Seats } from '../admission/seats';
import { Fleet } from '../engines/fleet';
import { ConfigError } from '../errors';
import { checkLogger, type Logger } from '../logger';
import { checkAll, checkFunction, checkNumber, checkOptions } from '../options';
import type { RefusalOptions } from './handler';

/** Options of `admissionGate`. */
export interface AdmissionGateOptions extends RefusalOptions {
  /** Requests in flight at most. Default 512, or `serving.max_connections` of `fleet`. */
  readonly maxConnections?: number | undefined;
  /** Requests that may wait for a seat. Default 0, or `serving.queue_capacity` of `fleet`. */
  readonly queueCapacity?: number | undefined;
  /** Seconds that one may wait. Default 0, or `serving.queue_timeout_s` of `fleet`. */
  readonly queueTimeoutS?: number | undefined;
  /** @internal Seats shared with another gate; excludes the three limits above. */
  readonly seats?: Seats | undefined;
  /** Seconds of delay of the event loop above which new work is refused. Default: a quarter of `slo.ttft_s`, else 0.25. */
  readonly maxDelayS?: number | undefined;
  /** Where requests and tokens per minute of tenants are counted. Default: this gate's memory. */
  readonly limitStore?: LimitStore | undefined;
  /** Gives the defaults, and the speeds that predictive admission needs. Default: none. */
  readonly fleet?: Fleet | undefined;
  /** File in which the learned speed of engines is kept over a restart; needs `fleet`. Default: none. */
  readonly stateFile?: string | undefined;
  /** Told of a store or a file that fails. Default: nobody. */
  readonly logger?: Logger | undefined;
}

const ROUTER_GATE_KEYS = [
  'maxConnections',
  'queueCapacity',
  'queueTimeoutS',
  'seats',
  'maxDelayS',
  'limitStore',
  'stateFile',
  'onError',
] as const satisfies readonly (keyof AdmissionGateOptions)[];

const KEYS = [...ROUTER_GATE_KEYS, 'fleet', 'logger'] as const;

const LIMITS = ['maxConnections', 'queueCapacity', 'queueTimeoutS'] as const;

/** Defaults of `serving.max_connections`, `queue_capacity` and `queue_timeout_s`. */
const DEFAULTS: SeatLimits = { seats: 512, queueCapacity: 0, queueTimeoutS: 0 };

/** Default of `maxDelayS` without a target, and the share of the target that it is with one. */
const DEFAULT_DELAY_S = 0.25;
const DELAY_SHARE = 0.25;

/** What the router has for its gate. */
export interface RouterGateParts {
  readonly fleet: Fleet;
  readonly logger: Logger;
}

/**
 * Builds the admission of a gate.
 *
 * @param owned the router's own fleet and logger, which its options then do not take.
 * @throws {ConfigError} for bad options.
 */
export function admissionOf(options: AdmissionGateOptions | undefined, owned?: RouterGateParts): Admission {
  const given: Partial<AdmissionGateOptions> = checkOptions(
    'admissionGate',
    options,
    owned === undefined ? KEYS : ROUTER_GATE_KEYS,
  );
  const { fleet = null, logger = null, stateFile = null } = { ...given, ...owned };
  if (fleet !== null && !(fleet instanceof Fleet)) {
    throw new ConfigError('admissionGate: fleet must be made with createFleet(config) or loadFleet(path)');
  }
  if (logger !== null) checkLogger('admissionGate: logger', logger);
  const checked = checkAll('admissionGate', {
    seats: () => seatsOf(given, fleet),
    maxDelayS: () => delayOf(given, fleet),
    store: () => storeOf(given),
    stateFile: () => checkStateFile(stateFile, fleet),
  });
  return new Admission({ ...checked, fleet, logger });
}

function storeOf({ limitStore = new MemoryStore() }: Partial<AdmissionGateOptions>): LimitStore {
  checkFunction('admissionGate: limitStore.take', limitStore?.take);
  return limitStore;
}

function checkStateFile(stateFile: unknown, fleet: Fleet | null): string | null {
  if (stateFile === null) return null;
  if (typeof stateFile !== 'string' || stateFile === '') {
    throw new ConfigError('admissionGate: stateFile must be a path');
  }
  if (fleet === null) throw new ConfigError('admissionGate: stateFile needs fleet, whose speed it keeps');
  return stateFile;
}

/** The seats that the options stand for: those given, else new ones. */
function seatsOf(given: Partial<AdmissionGateOptions>, fleet: Fleet | null): Seats {
  if (given.seats !== undefined) {
    if (!(given.seats instanceof Seats)) throw new ConfigError('admissionGate: seats must be of class Seats');
    const idle = LIMITS.find((name) => given[name] !== undefined);
    if (idle === undefined) return given.seats;
    throw new ConfigError(`admissionGate: give seats or ${idle}, not both`);
  }
  const { serving } = fleet?.config ?? {};
  const {
    maxConnections = serving?.maxConnections ?? DEFAULTS.seats,
    queueCapacity = serving?.queueCapacity ?? DEFAULTS.queueCapacity,
    queueTimeoutS = serving?.queueTimeoutS ?? DEFAULTS.queueTimeoutS,
  } = given;
  return new Seats(
    checkAll<SeatLimits>('admissionGate', {
      seats: () => checkNumber('admissionGate: maxConnections', maxConnections, { min: 1, integer: true }),
      queueCapacity: () =>
        checkNumber('admissionGate: queueCapacity', queueCapacity, { min: 0, integer: true }),
      queueTimeoutS: () => checkNumber('admissionGate: queueTimeoutS', queueTimeoutS, { min: 0 }),
    }),
  );
}

function delayOf({ maxDelayS }: Partial<AdmissionGateOptions>, fleet: Fleet | null): number {
  if (maxDelayS !== undefined) return checkNumber('admissionGate: maxDelayS', maxDelayS, { min: 0.001 });
  const target = fleet?.config.slo?.ttftS ?? null;
  return target === null ? DEFAULT_DELAY_S : target * DELAY_SHARE;
}
