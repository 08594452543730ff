/**
 * Who owns which handoff.
 *
 * A producer keeps KV blocks for each handoff until a decode engine has taken them or its lease runs
 * out. Every handoff that this router was given is, at each moment, held, claimed, reclaimed or left.
 */
import type { Engine } from './engine';
import type { HandoffState, LedgerCounts } from './handoff-tally';

/** One handoff. */
export class Handoff {
  readonly producer: Engine;
  /** Raw JSON text, as received. */
  readonly text: Buffer;
  /** Monotonic ms. */
  readonly since: number;
  #state: HandoffState = 'held';
  readonly #settled: (state: Exclude<HandoffState, 'held'>) => void;

  constructor(
    producer: Engine,
    text: Buffer,
    since: number,
    settled: (state: Exclude<HandoffState, 'held'>) => void,
  ) {
    this.producer = producer;
    this.text = text;
    this.since = since;
    this.#settled = settled;
  }

  get state(): HandoffState {
    return this.#state;
  }

  /** It is no longer ours. The first word counts. */
  settle(state: Exclude<HandoffState, 'held'>): void {
    if (this.#state !== 'held') return;
    this.#state = state;
    this.#settled(state);
  }
}

/** All handoffs of a fleet: its engines' tallies. */
export class HandoffLedger {
  readonly #engines: readonly Engine[];

  constructor(engines: readonly Engine[]) {
    this.#engines = engines;
  }

  /** A prefill engine has answered with a handoff. */
  take(producer: Engine, text: Buffer): Handoff {
    producer.handoffs.produce();
    return new Handoff(producer, text, performance.now(), (state) => producer.handoffs.end(state));
  }

  counts(): LedgerCounts {
    const sum = { produced: 0, held: 0, claimed: 0, reclaimed: 0, leased: 0 };
    for (const { handoffs } of this.#engines) {
      const counts = handoffs.counts();
      for (const name of Object.keys(sum) as (keyof LedgerCounts)[]) sum[name] += counts[name];
    }
    return sum;
  }
}
