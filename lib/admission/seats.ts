/** Seats and the bounded queue in front of them: shared by weight, and first come, first served within a tenant. */
import type { Place } from '../roster';
import { type Member, NOBODY, type Share, Shares } from './shares';

/** How a wait for a seat ended. */
export type SeatAnswer =
  | { readonly kind: 'seated'; readonly release: () => void }
  | { readonly kind: 'full' }
  /** The tenant has as many requests as it may; the next of them should end in about so many seconds. */
  | { readonly kind: 'tenant_full'; readonly waitS: number }
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
  readonly member: Member<Waiter>;
  readonly timer: NodeJS.Timeout;
}

/** A fixed number of seats. */
export class Seats {
  readonly limits: SeatLimits;
  readonly #shares: Shares<Waiter>;
  #taken = 0;
  #waiting = 0;

  constructor(limits: SeatLimits) {
    this.limits = limits;
    this.#shares = new Shares(limits.seats);
  }

  get taken(): number {
    return this.#taken;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** Tenants that are remembered. */
  get tenants(): number {
    return this.#shares.size;
  }

  /**
   * Takes a seat if one is free for this share now.
   *
   * @returns how to give it back; null where the answer is another one, which `enter` tells.
   */
  takeFree(share: Share = NOBODY): (() => void) | null {
    if (this.#taken >= this.limits.seats) return null;
    const member = this.#shares.member(share);
    if (member.count >= (share.maxInFlight ?? Number.POSITIVE_INFINITY)) return null;
    return this.#seat(member);
  }

  /**
   * Takes a seat, or waits for one.
   *
   * @param answer called exactly once, at once where no wait is needed.
   * @param share whose seat it is. Default: that of everybody without a tenant.
   * @returns how to leave the queue when the client goes; does nothing after the answer.
   */
  enter(answer: (answer: SeatAnswer) => void, share: Share = NOBODY): () => void {
    const member = this.#shares.member(share);
    if (member.count >= (share.maxInFlight ?? Number.POSITIVE_INFINITY)) {
      answer({ kind: 'tenant_full', waitS: (member.holdS ?? 0) / member.count });
      return () => {};
    }
    if (this.#taken < this.limits.seats) {
      answer({ kind: 'seated', release: this.#seat(member) });
      return () => {};
    }
    const { queueTimeoutS } = this.limits;
    if (queueTimeoutS <= 0 || !this.#makeRoom(member)) {
      this.#shares.left(member);
      answer({ kind: 'full' });
      return () => {};
    }
    const waiter: Waiter = {
      answer,
      // Asked for again: where there are many tenants, one that had nothing yet may have been forgotten for the room.
      member: this.#shares.member(share),
      timer: setTimeout(() => this.#drop(place, { kind: 'expired' }), queueTimeoutS * 1000),
    };
    const place = waiter.member.queue.add(waiter);
    this.#waiting++;
    return () => this.#drop(place, { kind: 'left' });
  }

  /** Room in the queue for one more of this member. A full queue is shared by weight as the seats are. */
  #makeRoom(newcomer: Member<Waiter>): boolean {
    if (this.#waiting < this.limits.queueCapacity) return true;
    const newest = this.#shares.crowder(newcomer)?.queue.last ?? null;
    if (newest === null) return false;
    this.#drop(newest, { kind: 'full' });
    return true;
  }

  #drop(place: Place<Waiter>, answer: SeatAnswer): void {
    if (!this.#forget(place)) return;
    this.#shares.left(place.value.member);
    place.value.answer(answer);
  }

  #forget(place: Place<Waiter>): boolean {
    const { member, timer } = place.value;
    if (!member.queue.remove(place)) return false;
    this.#waiting--;
    clearTimeout(timer);
    return true;
  }

  /** @returns how to give the seat back. */
  #seat(member: Member<Waiter>): () => void {
    this.#taken++;
    this.#shares.seated(member);
    const since = performance.now();
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      this.#taken--;
      member.taken--;
      member.noteHold((performance.now() - since) / 1000);
      this.#shares.left(member);
      this.#callNext();
    };
  }

  #callNext(): void {
    if (this.#waiting === 0 || this.#taken >= this.limits.seats) return;
    const first = this.#shares.next()?.queue.first ?? null;
    if (first === null) return;
    this.#forget(first);
    const { answer, member } = first.value;
    answer({ kind: 'seated', release: this.#seat(member) });
  }
}
