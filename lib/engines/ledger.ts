/**
 * Who owns which handoff.
 *
 * A producer keeps KV blocks for each handoff until a decode engine has taken them or its lease runs
 * out. Every handoff that this router was given is, at each moment, held, claimed, reclaimed or left.
 */
import type { Engine } from './engine';

/** Where a handoff stands. */
export type HandoffState = 'held' | 'claimed' | 'reclaimed' | 'leased';

/** Counts since the start; `held` is now. */
export interface LedgerCounts {
  readonly produced: number;
  readonly held: number;
  readonly claimed: number;
  readonly reclaimed: number;
  /** Left to the producer's lease: nobody made it let go. */
  readonly leased: number;
}

/** One handoff. */
export class Handoff {
  readonly producer: Engine;
  /** Raw JSON text, as received. */
  readonly text: Buffer;
  /** Monotonic ms. */
  readonly since: number;
  #state: HandoffState = 'held';
  readonly #settled: (state: HandoffState) => void;

  constructor(producer: Engine, text: Buffer, since: number, settled: (state: HandoffState) => void) {
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

/** All handoffs of a fleet. */
export class HandoffLedger {
  #produced = 0;
  readonly #ended = { claimed: 0, reclaimed: 0, leased: 0 };

  /** A prefill engine has answered with a handoff. */
  take(producer: Engine, text: Buffer): Handoff {
    this.#produced++;
    producer.handoffsHeld++;
    return new Handoff(producer, text, performance.now(), (state) => {
      producer.handoffsHeld--;
      if (state !== 'held') this.#ended[state]++;
    });
  }

  counts(): LedgerCounts {
    const { claimed, reclaimed, leased } = this.#ended;
    return {
      produced: this.#produced,
      held: this.#produced - claimed - reclaimed - leased,
      claimed,
      reclaimed,
      leased,
    };
  }
}
