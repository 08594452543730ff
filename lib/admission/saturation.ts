/**
 * Whether this process itself is behind: how late its timers are.
 *
 * It looks only while somebody is inside, so it needs no end of its own and keeps no process alive.
 */

/** How often a timer is asked for, ms. */
const STEP_MS = 20;
/** One late timer can be a garbage collection: so many within a window are a process that is behind. */
const STRIKES = 2;
/** The window, ms; longer where the limit is long. */
const WINDOW_MS = 1000;
const WINDOW_LIMITS = 4;
/** It is over when no timer was later than this share of the limit, for a whole window. */
const CALM_SHARE = 0.5;

/** The delay of the event loop, and whether it is too long. */
export class Saturation {
  /** Most delay, seconds. */
  readonly limitS: number;
  readonly #windowMs: number;
  readonly #strikes: number[] = [];
  #inside = 0;
  #timer: NodeJS.Timeout | null = null;
  #expectedAt = 0;
  #lastUneasyAt = 0;
  #delayS = 0;
  #isHigh = false;

  constructor(limitS: number) {
    this.limitS = limitS;
    this.#windowMs = Math.max(WINDOW_MS, limitS * 1000 * WINDOW_LIMITS);
  }

  /** The process is behind: new work should go elsewhere. */
  get isHigh(): boolean {
    return this.#isHigh;
  }

  /** How late the latest timer was, seconds. */
  get delayS(): number {
    return this.#delayS;
  }

  /** A request has come in. @returns what to call when it is over. */
  enter(): () => void {
    this.#inside++;
    if (this.#inside === 1) this.#start();
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      this.#inside--;
      if (this.#inside === 0) this.#stop();
    };
  }

  /** Takes note of one timer. @param now monotonic ms. */
  note(delayMs: number, now: number): void {
    this.#delayS = Math.max(0, delayMs) / 1000;
    if (this.#delayS > this.limitS * CALM_SHARE) this.#lastUneasyAt = now;
    if (this.#delayS > this.limitS) this.#strikes.push(now);
    while (this.#strikes.length > 0 && this.#strikes[0]! < now - this.#windowMs) this.#strikes.shift();
    if (this.#strikes.length >= STRIKES) this.#isHigh = true;
    else if (this.#isHigh && now - this.#lastUneasyAt > this.#windowMs) this.#isHigh = false;
  }

  #start(): void {
    const step = (): void => {
      const now = performance.now();
      this.note(now - this.#expectedAt, now);
      this.#expectedAt = now + STEP_MS;
    };
    this.#expectedAt = performance.now() + STEP_MS;
    this.#timer = setInterval(step, STEP_MS);
    this.#timer.unref();
  }

  #stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    this.#strikes.length = 0;
    this.#isHigh = false;
    this.#delayS = 0;
  }
}
