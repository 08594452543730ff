/**
 * One timer per leg.
 *
 * A leg is always under exactly one limit: the nearer of its own and the request's deadline. `AbortSignal`
 * chains would cost about 47 us a request; re-arming one timer costs under one.
 */

/** Which limit ended a leg. */
export type Limit = 'prefill' | 'first_token' | 'gap' | 'pool' | 'request';

/** A timer that holds one limit at a time. */
export class LegTimer {
  readonly #requestDeadline: number;
  readonly #onExpire: (limit: Limit) => void;
  #timer: NodeJS.Timeout | null = null;
  #limit: Limit = 'request';
  /** Monotonic ms at which the present limit ends. */
  #endsAt = Number.POSITIVE_INFINITY;
  #lengthMs = 0;
  /** Monotonic ms at which the timer fires. */
  #firesAt = 0;

  /**
   * @param requestDeadline monotonic ms at which the whole request ends.
   * @param onExpire called once, with the limit that ran out.
   */
  constructor(requestDeadline: number, onExpire: (limit: Limit) => void) {
    this.#requestDeadline = requestDeadline;
    this.#onExpire = onExpire;
  }

  /**
   * Puts the leg under a limit.
   *
   * @param seconds its length; 0 means that only the request's deadline holds.
   */
  arm(limit: Limit, seconds: number): void {
    const now = performance.now();
    this.#lengthMs = seconds * 1000;
    const own = seconds > 0 ? now + this.#lengthMs : Number.POSITIVE_INFINITY;
    this.#limit = own < this.#requestDeadline ? limit : 'request';
    this.#endsAt = Math.min(own, this.#requestDeadline);
    // A timer that fires before the new end looks again then: most legs need no second one.
    if (this.#timer !== null && this.#firesAt <= this.#endsAt) return;
    this.clear();
    this.#schedule(now);
  }

  /** Starts the present limit anew. Cheap: the timer itself looks again when it fires. */
  touch(): void {
    if (this.#limit === 'request') return;
    this.#endsAt = performance.now() + this.#lengthMs;
    if (this.#endsAt > this.#requestDeadline) {
      this.#endsAt = this.#requestDeadline;
      this.#limit = 'request';
    }
  }

  clear(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  #schedule(now: number): void {
    // Node fires timers up to 1 ms early against performance.now().
    const wait = Math.min(Math.max(1, Math.ceil(this.#endsAt - now)), 0x7fffffff);
    this.#firesAt = now + wait;
    this.#timer = setTimeout(() => this.#fire(), wait);
  }

  #fire(): void {
    const now = performance.now();
    if (this.#endsAt - now > 1) {
      this.#schedule(now);
      return;
    }
    this.#timer = null;
    this.#onExpire(this.#limit);
  }
}
