/** How many handoffs there were, and what became of them. */

/** Where a handoff stands. */
export type HandoffState = 'held' | 'claimed' | 'reclaimed' | 'leased';

/** Counts since the start; `held` is now, with no decode engine that has taken it. */
export interface LedgerCounts {
  /** All that prefill engines answered with. */
  readonly produced: number;
  /** Waiting for a decode engine now. */
  readonly held: number;
  /** Taken by a decode engine. */
  readonly claimed: number;
  /** Let go by a reclaim leg. */
  readonly reclaimed: number;
  /** Left to the producer's lease: nobody made it let go. */
  readonly leased: number;
}

/** The handoffs of one producer. */
export class HandoffTally {
  #produced = 0;
  readonly #ended = { claimed: 0, reclaimed: 0, leased: 0 };

  produce(): void {
    this.#produced++;
  }

  end(state: Exclude<HandoffState, 'held'>): void {
    this.#ended[state]++;
  }

  counts(): LedgerCounts {
    const { claimed, reclaimed, leased } = this.#ended;
    const held = this.#produced - claimed - reclaimed - leased;
    return { produced: this.#produced, held, claimed, reclaimed, leased };
  }
}
