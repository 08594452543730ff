/**
 * Who is next: weighted fair sharing of seats between tenants.
 *
 * Each tenant has a virtual time, which one seat moves on by `1 / weight`; the waiting tenant with the
 * earliest time is next. A tenant that holds its share of the seats already is passed over while another,
 * that does not, waits. A tenant that was idle starts at the present time: it saves nothing up, and nothing
 * that it does not use is kept for it.
 */

import { Roster } from '../roster';

/** A tenant as sharing sees it. */
export interface Share {
  /** One name, one share. */
  readonly name: string;
  /** Above zero. */
  readonly weight: number;
  /** Requests that it may have at once, waiting ones included. */
  readonly maxInFlight?: number | undefined;
}

/** Requests without a tenant are one tenant together. */
export const NOBODY: Share = Object.freeze({ name: '', weight: 1 });

/** Tenants without a request that are still remembered, so that leaving for a moment gains nothing. */
const MAX_IDLE = 256;
/** Weight of the newest hold in the mean. */
const HOLD_WEIGHT = 0.2;

/** A tenant with a request, or one that had one lately. `W` is what waits. */
export class Member<W> {
  weight = 1;
  taken = 0;
  readonly queue = new Roster<W>();
  /** Virtual time. */
  pass = 0;
  /** Mean seconds for which it holds a seat; null before the first one is given back. */
  holdS: number | null = null;

  constructor(readonly name: string) {}

  get count(): number {
    return this.taken + this.queue.size;
  }

  noteHold(seconds: number): void {
    this.holdS = this.holdS === null ? seconds : this.holdS + HOLD_WEIGHT * (seconds - this.holdS);
  }
}

/** The tenants of one set of seats. */
export class Shares<W> {
  readonly #members = new Map<string, Member<W>>();
  readonly #seats: number;
  /** Virtual time of the latest seat. */
  #clock = 0;

  constructor(seats: number) {
    this.#seats = seats;
  }

  /** Tenants that are known now. */
  get size(): number {
    return this.#members.size;
  }

  /** The member of a share; the newest weight counts. */
  member({ name, weight }: Share): Member<W> {
    let member = this.#members.get(name);
    if (member === undefined) {
      member = new Member(name);
      this.#members.set(name, member);
    }
    if (member.count === 0) member.pass = Math.max(member.pass, this.#clock);
    member.weight = weight;
    return member;
  }

  /** A member got a seat. */
  seated(member: Member<W>): void {
    member.taken++;
    this.#clock = Math.max(this.#clock, member.pass);
    member.pass += 1 / member.weight;
  }

  /** A member has one request fewer. */
  left(member: Member<W>): void {
    // Where it is alone there is no line: a map that entries leave and enter again is made anew every few times.
    if (member.count > 0 || this.#members.size === 1) return;
    // To the end of the line of idle ones.
    this.#members.delete(member.name);
    this.#members.set(member.name, member);
    if (this.#members.size <= MAX_IDLE) return;
    for (const [name, { count }] of this.#members) {
      if (this.#members.size <= MAX_IDLE) return;
      if (count === 0) this.#members.delete(name);
    }
  }

  /** The member whose first waiter is next; null where nobody waits. */
  next(): Member<W> | null {
    let weights = 0;
    for (const { count, weight } of this.#members.values()) if (count > 0) weights += weight;
    let best: Member<W> | null = null;
    let bestIsOver = false;
    for (const member of this.#members.values()) {
      if (member.queue.size === 0) continue;
      const isOver = member.taken >= Math.ceil((this.#seats * member.weight) / weights);
      if (best === null || (bestIsOver && !isOver) || (bestIsOver === isOver && member.pass < best.pass)) {
        best = member;
        bestIsOver = isOver;
      }
    }
    return best;
  }

  /**
   * Whose newest waiter must go, so that `newcomer` may have its share of a full queue.
   *
   * @returns null where nobody has more of it, for its weight, than the newcomer would have.
   */
  crowder(newcomer: Member<W>): Member<W> | null {
    let most: Member<W> | null = null;
    for (const member of this.#members.values()) {
      if (most === null || member.queue.size / member.weight > most.queue.size / most.weight) most = member;
    }
    if (most === null || most === newcomer) return null;
    const wouldHave = (newcomer.queue.size + 1) / newcomer.weight;
    return wouldHave < most.queue.size / most.weight ? most : null;
  }
}
