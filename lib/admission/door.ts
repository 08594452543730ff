/**
 * Counts requests from their arrival, before their bodies are read: an upload occupies memory too.
 *
 * There is room for as many as can be seated or wait. One more is refused, unless its tenant has less than
 * its share of the room. Where its body is small it is read all the same, so that a fault of its own is told
 * first, in the order of the request contract; a large body, or one of unknown length, is not read.
 */
import type { IncomingMessage } from 'node:http';
import { NOBODY, type Share } from './shares';

/** A body up to this size may be read although its request will be refused. */
export const SMALL_BODY = 64 * 1024;
/** Above twice the room and so many more, no body of a request that will be refused is read at all. */
const MAX_READERS = 256;

/** The requests of one tenant. */
interface Guest {
  readonly name: string;
  weight: number;
  inside: number;
}

/** One request's place at the door. */
export class DoorTicket {
  readonly #door: Door;
  readonly #guest: Guest;
  readonly #cameBeyond: boolean;
  #held = true;

  constructor(door: Door, guest: Guest) {
    this.#door = door;
    this.#guest = guest;
    this.#cameBeyond = door.isBeyond(guest);
  }

  /** It came when there was no room for it, and there still is none. */
  get isBeyond(): boolean {
    return this.#cameBeyond && this.#door.isBeyond(this.#guest);
  }

  leave(): void {
    if (!this.#held) return;
    this.#held = false;
    this.#door.left(this.#guest);
  }
}

/** The requests that are inside. */
export class Door {
  readonly #room: number;
  readonly #guests = new Map<string, Guest>();
  #inside = 0;

  constructor(room: number) {
    this.#room = room;
  }

  /** Requests that came in and are not over. */
  get inside(): number {
    return this.#inside;
  }

  enter({ name, weight }: Share = NOBODY): DoorTicket {
    let guest = this.#guests.get(name);
    if (guest === undefined) {
      guest = { name, weight, inside: 0 };
      this.#guests.set(name, guest);
    }
    guest.weight = weight;
    guest.inside++;
    this.#inside++;
    return new DoorTicket(this, guest);
  }

  /** There is no room for so many, and this guest has more than its share of it. */
  isBeyond(guest: Guest): boolean {
    return this.#inside > this.#room && guest.inside > this.#shareOf(guest);
  }

  /** A request of a guest is over: for its ticket alone. */
  left(guest: Guest): void {
    this.#inside--;
    guest.inside--;
    if (guest.inside === 0) this.#guests.delete(guest.name);
  }

  /** Whether the body of a request that will be refused may be read first. */
  mayRead({ headers, readableDidRead }: IncomingMessage): boolean {
    // The host has it already.
    if (readableDidRead) return true;
    if (this.#inside > 2 * this.#room + MAX_READERS) return false;
    if (headers['transfer-encoding'] !== undefined) return false;
    return Number(headers['content-length'] ?? 0) <= SMALL_BODY;
  }

  #shareOf({ weight }: Guest): number {
    let weights = 0;
    for (const guest of this.#guests.values()) weights += guest.weight;
    return (this.#room * weight) / weights;
  }
}
