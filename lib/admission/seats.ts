/** Seats and the bounded queue in front of them: first come, first served. */

/** How a wait for a seat ended. */
export type SeatAnswer =
  | { readonly kind: 'seated'; readonly release: () => void }
  | { readonly kind: 'full' }
  | { readonly kind: 'expired' }
  | { readonly kind: 'left' };

/** Limits of the seats; times in seconds. */
export interface SeatLimits {
  readonly seats: number;
  readonly queueCapacity: number;
  readonly queueTimeoutS: number;
}

interface Waiter {
  readonly answer: (answer: SeatAnswer) => void;
  readonly timer: NodeJS.Timeout;
}

/** A fixed number of seats. */
export class Seats {
  readonly #limits: SeatLimits;
  readonly #queue = new Set<Waiter>();
  #taken = 0;

  constructor(limits: SeatLimits) {
    this.#limits = limits;
  }

  get taken(): number {
    return this.#taken;
  }

  get waiting(): number {
    return this.#queue.size;
  }

  /**
   * Takes a seat, or waits for one.
   *
   * @param answer called exactly once, at once where no wait is needed.
   * @returns how to leave the queue when the client goes; does nothing after the answer.
   */
  enter(answer: (answer: SeatAnswer) => void): () => void {
    if (this.#taken < this.#limits.seats) {
      answer(this.#seat());
      return () => {};
    }
    const { queueCapacity, queueTimeoutS } = this.#limits;
    if (this.#queue.size >= queueCapacity || queueTimeoutS <= 0) {
      answer({ kind: 'full' });
      return () => {};
    }
    const waiter: Waiter = {
      answer,
      timer: setTimeout(() => this.#drop(waiter, { kind: 'expired' }), queueTimeoutS * 1000),
    };
    this.#queue.add(waiter);
    return () => this.#drop(waiter, { kind: 'left' });
  }

  #drop(waiter: Waiter, answer: SeatAnswer): void {
    if (!this.#queue.delete(waiter)) return;
    clearTimeout(waiter.timer);
    waiter.answer(answer);
  }

  #seat(): SeatAnswer {
    this.#taken++;
    let held = true;
    return {
      kind: 'seated',
      release: () => {
        if (!held) return;
        held = false;
        this.#taken--;
        this.#callNext();
      },
    };
  }

  #callNext(): void {
    const [first] = this.#queue;
    if (first === undefined || this.#taken >= this.#limits.seats) return;
    this.#queue.delete(first);
    clearTimeout(first.timer);
    first.answer(this.#seat());
  }
}
