/** May one more request be in flight. */
import { type SeatLimits, Seats } from '../admission/seats';
import { ConfigError, NarwhalError } from '../errors';
import { checkNumber, checkOptions } from '../options';
import { checkOnError, enter, type NarwhalHandler, type RefusalOptions, refuse } from './handler';

/** Options of `admissionGate`. */
export interface AdmissionGateOptions extends RefusalOptions {
  /** Requests in flight at most. Default 512. */
  readonly maxConnections?: number | undefined;
  /** Requests that may wait for a seat. Default 0. */
  readonly queueCapacity?: number | undefined;
  /** Seconds that one may wait. Default 0. */
  readonly queueTimeoutS?: number | undefined;
  /** Seats shared with another gate; excludes the three limits above. */
  readonly seats?: Seats | undefined;
}

const KEYS = ['maxConnections', 'queueCapacity', 'queueTimeoutS', 'seats', 'onError'] as const;

const LIMITS = ['maxConnections', 'queueCapacity', 'queueTimeoutS'] as const;

/** Defaults of `serving.max_connections`, `queue_capacity` and `queue_timeout_s`. */
const DEFAULTS: SeatLimits = { seats: 512, queueCapacity: 0, queueTimeoutS: 0 };

/** Shortest and longest `Retry-After` of a full house, in seconds; random between, so that clients spread. */
const RETRY_MIN_S = 1;
const RETRY_MAX_S = 5;

/**
 * Takes a seat for the request and gives it back when the response is over, however it ended.
 *
 * Refuses with 429 when seats and queue are full, with 504 when the wait ran out.
 *
 * @throws {ConfigError} for bad options.
 */
export function admissionGate(options?: AdmissionGateOptions): NarwhalHandler {
  const given = checkOptions('admissionGate', options, KEYS);
  const onError = checkOnError('admissionGate', given.onError);
  const seats = seatsOf(options);
  return function admit(req, res, next) {
    const context = enter(req, res);
    const { record } = context;
    const since = performance.now();
    record.phase = 'queue';
    let leave = (): void => {};
    res.once('close', () => leave());
    leave = seats.enter((answer) => {
      if (answer.kind === 'left') return;
      record.queueWaitMs = performance.now() - since;
      if (answer.kind === 'seated') {
        // Where the client left in this very tick, `close` may be over: the seat must not stay taken. One
        // that has had its answer meanwhile (the gateway is closing) is not served either.
        if (res.closed || res.writableEnded) {
          answer.release();
          return;
        }
        res.once('close', answer.release);
        next();
        return;
      }
      refuse(context, res, next, refusalOf(answer.kind), onError);
    });
  };
}

/**
 * The seats that the options stand for: those given, else new ones.
 *
 * @param defaults limits that the options leave out.
 * @throws {ConfigError} for bad options, and for limits beside `seats`, which would have no effect.
 */
export function seatsOf(options: AdmissionGateOptions | undefined, defaults: SeatLimits = DEFAULTS): Seats {
  const given = checkOptions('admissionGate', options, KEYS);
  if (given.seats !== undefined) {
    if (!(given.seats instanceof Seats)) throw new ConfigError('admissionGate: seats must be of class Seats');
    const idle = LIMITS.find((name) => given[name] !== undefined);
    if (idle === undefined) return given.seats;
    throw new ConfigError(`admissionGate: give seats or ${idle}, not both`);
  }
  const {
    maxConnections = defaults.seats,
    queueCapacity = defaults.queueCapacity,
    queueTimeoutS = defaults.queueTimeoutS,
  } = given;
  return new Seats({
    seats: checkNumber('admissionGate: maxConnections', maxConnections, { min: 1, integer: true }),
    queueCapacity: checkNumber('admissionGate: queueCapacity', queueCapacity, { min: 0, integer: true }),
    queueTimeoutS: checkNumber('admissionGate: queueTimeoutS', queueTimeoutS, { min: 0 }),
  });
}

function refusalOf(kind: 'full' | 'expired'): NarwhalError {
  if (kind === 'expired') {
    return new NarwhalError('queueExpired', 'no place for the request came free within queue_timeout_s');
  }
  const retryAfterS = RETRY_MIN_S + Math.floor(Math.random() * (RETRY_MAX_S - RETRY_MIN_S + 1));
  return new NarwhalError(
    'inflightLimit',
    'the gateway is serving as many requests as it may; try again later',
    {
      retryAfterS,
    },
  );
}
