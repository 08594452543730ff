/** The end of a router: no new work, time for what runs, then an end for what is left. */
import type { ServerResponse } from 'node:http';
import { NarwhalError } from '../errors';
import { Roster } from '../roster';
import type { Presence } from './presence';

/** How long an ended stream may take to reach its client before its socket is closed. */
const FLUSH_MS = 1000;

/** Ends a request that has no answer yet. */
type Refuse = (error: NarwhalError) => void;

/** A request that has come in, and is not over. */
interface Running {
  readonly res: ServerResponse;
  readonly refuse: Refuse;
}

/** What a shutdown acts on. */
export interface ShutdownParts {
  /** Requests in serving; those left at the deadline get an error. */
  readonly active: Iterable<Presence>;
  /** Seconds that running requests may go on for. */
  readonly timeoutS: number;
  /** Ends what still works for requests whose answers are over. */
  readonly abandon: () => void;
  /** Closes what the router owns, once nothing runs. */
  readonly release: () => Promise<void>;
}

/** Counts running requests and ends them. */
export class Shutdown {
  readonly #parts: ShutdownParts;
  readonly #running = new Roster<Running>();
  #closing: Promise<void> | null = null;
  #idle: (() => void) | null = null;

  constructor(parts: ShutdownParts) {
    this.#parts = parts;
  }

  get isClosing(): boolean {
    return this.#closing !== null;
  }

  get running(): number {
    return this.#running.size;
  }

  /**
   * A request has come in.
   *
   * @param refuse answers it with an error; called at the deadline, where no answer has begun.
   * @returns what to call when nothing of it is left.
   */
  enter(res: ServerResponse, refuse: Refuse): () => void {
    const place = this.#running.add({ res, refuse });
    return () => {
      this.#running.remove(place);
      if (this.#running.size === 0) this.#idle?.();
    };
  }

  /** Ends the router; a second call returns the same promise. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    // One turn later `isClosing` is true for everyone.
    await Promise.resolve();
    if (!(await this.#emptyWithin(this.#parts.timeoutS * 1000))) {
      this.#endAll();
      if (!(await this.#emptyWithin(FLUSH_MS))) {
        this.#parts.abandon();
        for (const { res } of this.#running) res.destroy();
        await this.#emptyWithin(FLUSH_MS);
      }
    }
    await this.#parts.release();
  }

  #endAll(): void {
    const error = shuttingDown();
    // First those that wait for a seat: they must not get one that comes free now.
    for (const { res, refuse } of this.#running) if (!res.headersSent) refuse(error);
    for (const presence of this.#parts.active) presence.leave(error);
  }

  /** Waits until nothing runs. @returns false when that took longer. */
  #emptyWithin(ms: number): Promise<boolean> {
    if (this.#running.size === 0) return Promise.resolve(true);
    return new Promise((resolve) => {
      const end = (empty: boolean): void => {
        clearTimeout(timer);
        this.#idle = null;
        resolve(empty);
      };
      const timer = setTimeout(() => end(false), ms);
      this.#idle = () => end(true);
    });
  }
}

/** The error of a request that comes too late, or that does not end in time. */
export function shuttingDown(): NarwhalError {
  return new NarwhalError('shuttingDown', 'the gateway is shutting down', { retryAfterS: 1 });
}
