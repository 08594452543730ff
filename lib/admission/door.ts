/**
 * Counts requests from their arrival, before their bodies are read: an upload occupies memory too.
 *
 * There is room for as many as can be seated or wait. One more is refused. Where its body is small it is
 * read all the same, so that a fault of its own is told first, in the order of the request contract; a large
 * body, or one of unknown length, is not read.
 */
import type { IncomingMessage } from 'node:http';

/** A body up to this size may be read although its request will be refused. */
export const SMALL_BODY = 64 * 1024;
/** Above the room and so many more, no body is read at all. */
const MAX_READERS = 256;

/** One request's place at the door. */
export interface DoorTicket {
  /** It came when there was no room, and there still is none. */
  readonly isBeyond: boolean;
  leave(): void;
}

/** The requests that are inside. */
export class Door {
  readonly #room: number;
  #inside = 0;

  constructor(room: number) {
    this.#room = room;
  }

  /** Requests that came in and are not over. */
  get inside(): number {
    return this.#inside;
  }

  enter(): DoorTicket {
    this.#inside++;
    const cameBeyond = this.#inside > this.#room;
    const isFull = (): boolean => this.#inside > this.#room;
    let held = true;
    return {
      get isBeyond() {
        return cameBeyond && isFull();
      },
      leave: () => {
        if (!held) return;
        held = false;
        this.#inside--;
      },
    };
  }

  /** Whether the body of a request that will be refused may be read first. */
  mayRead({ headers, readableDidRead }: IncomingMessage): boolean {
    // The host has it already.
    if (readableDidRead) return true;
    if (this.#inside > this.#room + MAX_READERS || headers['transfer-encoding'] !== undefined) return false;
    return Number(headers['content-length'] ?? 0) <= SMALL_BODY;
  }
}
