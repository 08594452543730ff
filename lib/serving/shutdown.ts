/** The end of a router: no new work, time for what runs, then an end for what is left. */
import type { ServerResponse } from 'node:http';
import { NarwhalError } from '../errors';
import type { Presence } from './presence';

/** How long an ended stream may take to reach its client before its socket is closed. */
const FLUSH_MS = 1000;

/** Counts running requests and ends them. */
export class Shutdown {
  readonly #active: ReadonlySet<Presence>;
  readonly #timeoutS: number;
  readonly #release: () => Promise<void>;
  readonly #running = new Set<ServerResponse>();
  #closing: Promise<void> | null = null;
  #idle: (() => void) | null = null;

  /**
   * @param active requests in serving; those left at the deadline get an error.
   * @param timeoutS seconds that running requests may go on for.
   * @param release closes what the router owns, once nothing runs.
   */
  constructor(active: ReadonlySet<Presence>, timeoutS: number, release: () => Promise<void>) {
    this.#active = active;
    this.#timeoutS = timeoutS;
    this.#release = release;
  }

  get isClosing(): boolean {
    return this.#closing !== null;
  }

  get running(): number {
    return this.#running.size;
  }

  /** A request has come in. @returns what to call when nothing of it is left. */
  enter(res: ServerResponse): () => void {
    this.#running.add(res);
    return () => {
      this.#running.delete(res);
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
    if (!(await this.#emptyWithin(this.#timeoutS * 1000))) {
      for (const presence of this.#active) {
        presence.leave(new NarwhalError('shuttingDown', 'the gateway is shutting down', { retryAfterS: 1 }));
      }
      if (!(await this.#emptyWithin(FLUSH_MS))) {
        for (const res of this.#running) res.destroy();
        await this.#emptyWithin(FLUSH_MS);
      }
    }
    await this.#release();
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
