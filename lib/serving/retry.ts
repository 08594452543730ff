/** Pure: may a failed attempt be followed by another, and after how long. */
import type { FleetConfig } from '../config/fleet-config';
import { EngineFault } from '../engines/fault';
import { isNarwhalError } from '../errors';
import type { OutcomeName } from '../outcomes';

/** Faults that another attempt, on other engines, may cure. */
const TRANSIENT: ReadonlySet<OutcomeName> = new Set([
  'engineUnreachable',
  'engineConnection',
  'engineTimeout',
  'engineOverloaded',
  'engineError',
  'badHandoff',
  'handoffExpired',
  'localPool',
]);

/** Statuses of `engineError` that say nothing about the request itself. */
const TRANSIENT_STATUSES: ReadonlySet<number | null> = new Set([null, 500, 502, 503, 504]);

/** Whether an error is of a kind that a new attempt may cure. */
export function isTransient(error: unknown): boolean {
  if (error instanceof EngineFault) {
    return (
      TRANSIENT.has(error.outcome) &&
      (error.outcome !== 'engineError' || TRANSIENT_STATUSES.has(error.status))
    );
  }
  return isNarwhalError(error) && error.outcome === 'handoffExpired';
}

/** Retries that a fleet may still make: each costs one, each good request gives a little back. */
export class RetryBudget {
  readonly #limit: number;
  readonly #replenish: number;
  #left: number;
  /** Retries that were made. */
  made = 0;

  constructor({ retryBudget, retryReplenish }: FleetConfig['serving']) {
    this.#limit = retryBudget;
    this.#replenish = retryReplenish;
    this.#left = retryBudget;
  }

  get left(): number {
    return this.#left;
  }

  /** Takes one retry. @returns false when the budget is spent. */
  take(): boolean {
    if (this.#left < 1) return false;
    this.#left -= 1;
    this.made += 1;
    return true;
  }

  /** A request ended well. */
  replenish(): void {
    this.#left = Math.min(this.#limit, this.#left + this.#replenish);
  }
}

/**
 * How long to wait before an attempt.
 *
 * @param attempt the one that failed, from 1.
 * @param random from 0 to below 1.
 * @returns milliseconds below `min(retry_cap_s, retry_base_s * 2^(attempt-1))`.
 */
export function backoffMs(serving: FleetConfig['serving'], attempt: number, random: number): number {
  const ceiling = Math.min(serving.retryCapS, serving.retryBaseS * 2 ** (attempt - 1));
  return random * ceiling * 1000;
}
