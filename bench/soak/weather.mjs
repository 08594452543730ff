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

/** Changes the weather until stopped. */
export class Weather {
  #fleet;
  #random;
  #timer = null;
  #moves = Promise.resolve();

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
      if (!engine.running) await engine.start();
    }
  }

  async #change() {
    const random = this.#random;
    const engine = random.pick(this.#fleet.engines);
    if (!engine.running) {
      await engine.start();
      return;
    }
    engine.script = undefined;
    const roll = random.next();
    if (roll < 0.1) {
      await engine.stop();
      if (random.chance(0.5)) await engine.start();
    } else if (roll < 0.6) {
      engine.script = random.pick(FAULTS)(random);
    }
  }
}
