/** The connections to one address: the one that was free last is taken first. */
import { type Place, Roster } from '../../roster';
import {
  type Address,
  Connection,
  type ConnectionLimits,
  type ConnectionOwner,
  type Passenger,
} from './connection';

/** Limits of a pool; times in milliseconds. */
export interface SocketPoolLimits extends ConnectionLimits {
  /** A connection that was free for so long is not used again. */
  readonly idleMs: number;
  /** Nor is one of this age, so that a changed DNS answer is followed. */
  readonly maxAgeMs: number;
  /** Connections at most; null for no limit. */
  readonly connections: number | null;
}

/** What carries a call: its side of a connection. */
export type Carrier = Pick<Connection, 'pause' | 'resume' | 'cut'>;

/** A call that waits for a connection, or has one. */
export interface PooledPassenger extends Passenger {
  /** Set by the pool. */
  connection: Carrier | null;
  /** Set by the pool, while it waits. */
  place: Place<PooledPassenger> | null;
}

/** Connections of one address. */
export class SocketPool implements ConnectionOwner {
  readonly #address: Address;
  readonly #limits: SocketPoolLimits;
  readonly #open = new Roster<Connection>();
  /** Free ones, the latest last. Those that died meanwhile are found when they are taken. */
  #free: Connection[] = [];
  #waiting = new Roster<PooledPassenger>();
  #whenEmpty: (() => void) | null = null;
  /** Why there is no new connection any more. */
  #closedBy: Error | null = null;

  constructor(address: Address, limits: SocketPoolLimits) {
    this.#address = address;
    this.#limits = limits;
  }

  /** Sends a call on a free connection, on a new one, or when one comes free. */
  send(passenger: PooledPassenger): void {
    if (!this.#board(passenger)) passenger.place = this.#waiting.add(passenger);
  }

  /** Sends a call on a connection of its own making, whatever is free. */
  sendOnNew(passenger: PooledPassenger): void {
    if (this.#closedBy !== null) {
      passenger.broken(this.#closedBy);
      return;
    }
    const connection = new Connection(this, this.#address, this.#limits, passenger);
    connection.place = this.#open.add(connection);
    passenger.connection = connection;
  }

  /** The call is not wanted any more. */
  forget(passenger: PooledPassenger): void {
    if (passenger.connection !== null) passenger.connection.cut();
    else if (passenger.place !== null) this.#waiting.remove(passenger.place);
  }

  free(connection: Connection): void {
    const now = performance.now();
    connection.idleSince = now;
    if (now - connection.openedAt >= this.#limits.maxAgeMs) connection.destroy();
    else this.#free.push(connection);
    this.#callNext();
  }

  gone(connection: Connection): void {
    if (connection.place !== null) this.#open.remove(connection.place);
    if (this.#open.size === 0) this.#whenEmpty?.();
    this.#callNext();
  }

  /** Closes what has been free for too long. */
  sweep(now: number): void {
    const kept: Connection[] = [];
    for (const connection of this.#free) {
      if (this.#isFresh(connection, now)) kept.push(connection);
      else connection.destroy();
    }
    this.#free = kept;
  }

  /** Closes everything; running and waiting calls fail with the error. @returns settles when all are closed. */
  destroy(error: Error): Promise<void> {
    this.#closedBy = error;
    const waiting = this.#waiting;
    this.#waiting = new Roster();
    this.#free = [];
    for (const connection of this.#open) connection.destroy(error);
    for (const passenger of waiting) passenger.broken(error);
    if (this.#open.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#whenEmpty = resolve;
    });
  }

  /** @returns false where every connection is taken and no other may be opened. */
  #board(passenger: PooledPassenger): boolean {
    const free = this.#takeFree(performance.now());
    if (free !== null) {
      passenger.connection = free;
      free.carry(passenger);
      return true;
    }
    const { connections } = this.#limits;
    if (connections !== null && this.#open.size >= connections) return false;
    this.sendOnNew(passenger);
    return true;
  }

  #takeFree(now: number): Connection | null {
    for (let last = this.#free.pop(); last !== undefined; last = this.#free.pop()) {
      if (this.#isFresh(last, now)) return last;
      last.destroy();
    }
    return null;
  }

  #isFresh(connection: Connection, now: number): boolean {
    const { idleMs, maxAgeMs } = this.#limits;
    const idle = Math.min(idleMs, connection.idleLimitMs);
    return !connection.isDead && now - connection.idleSince < idle && now - connection.openedAt < maxAgeMs;
  }

  #callNext(): void {
    const next = this.#waiting.first;
    // One that cannot go yet keeps its place.
    if (next !== null && this.#board(next.value)) this.#waiting.remove(next);
  }
}
