// What befalls the engines: one fault at a time per engine, for a while.

const FAULTS = [
  () => ({ status: 500 }),
  () => ({ status: 503, retryAfter: 1 }),
  () => ({ status: 429 }),
  () => ({ status: 400 }),
  () => ({ hang: true }),
  () => ({ resetAfterFrames: 0 }),
  (random) => ({ leg: 'decode', resetAfterFrames: 1 + random.below(5) }),
  (random) => ({ leg: 'decode', hangAfterFrames: 1 + random.below(5) }),
  (random) => ({ leg: 'decode', endAfterFrames: 1 + random.below(5) }),
  (random) => ({
    leg: 'decode',
    errorFrameAfter: {
      frames: random.below(5),
      error: { message: 'engine broke', type: 'InternalServerError', code: 500 },
      done: true,
    },
  }),
  () => ({ leg: 'prefill', noHandoff: true }),
  (random) => ({ delayMs: random.below(400) }),
  (random) => ({ leg: 'decode', cutBytes: 1 + random.below(64) }),
];

/**
 * An engine that died is away for at least this long, ms. No real one is back sooner; one that were could be
 * sent the same call again, because a reused socket that breaks within 500 ms counts as stale.
 */
const MIN_AWAY_MS = 600;

/** Changes the weather until stopped. */
export class Weather {
  #fleet;
  #random;
  #timer = null;
  #moves = Promise.resolve();
  /** When each stopped engine went away. */
  #away = new Map();

  constructor(fleet, random) {
    this.#fleet = fleet;
    this.#random = random;
  }

  start() {
    this.#timer = setInterval(() => {
      this.#moves = this.#moves.then(() => this.#change());
    }, 150);
  }

  /** Ends all faults and brings every engine back. */
  async clear() {
    clearInterval(this.#timer);
    await this.#moves;
    for (const engine of this.#fleet.engines) {
      engine.script = undefined;
      await this.#comeBack(engine);
    }
  }

  async #change() {
    const random = this.#random;
    const engine = random.pick(this.#fleet.engines);
    if (!engine.running) {
      if (this.#awayFor(engine) >= MIN_AWAY_MS) await engine.start();
      return;
    }
    engine.script = undefined;
    const roll = random.next();
    if (roll < 0.1) {
      await engine.stop();
      this.#away.set(engine, performance.now());
    } else if (roll < 0.6) {
      engine.script = random.pick(FAULTS)(random);
    }
  }

  async #comeBack(engine) {
    if (engine.running) return;
    const left = MIN_AWAY_MS - this.#awayFor(engine);
    if (left > 0) await new Promise((resolve) => setTimeout(resolve, left));
    await engine.start();
  }

  #awayFor(engine) {
    return performance.now() - this.#away.get(engine);
  }
}
