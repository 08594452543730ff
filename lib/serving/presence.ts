/** Whether anyone still waits for the answer, and what to cut when nobody does. */
import { ClientGoneError, type NarwhalError } from '../errors';

/** Why a request ends from outside its legs. */
export type Departure = ClientGoneError | NarwhalError;

/** One client's presence. Seen on the response's `close`, never on the request's. */
export class Presence {
  #departure: Departure | null = null;
  /** One call, as a rule: a list costs less than a set. */
  #cuts: ((why: Departure) => void)[] = [];

  get isGone(): boolean {
    return this.#departure !== null;
  }

  /**
   * Whatever is in flight is cut now.
   *
   * @param why a client that left (the default), or the gateway's own reason to end the request.
   */
  leave(why: Departure = new ClientGoneError()): void {
    if (this.#departure !== null) return;
    this.#departure = why;
    const cuts = this.#cuts;
    this.#cuts = [];
    for (const cut of cuts) cut(why);
  }

  /** @throws {ClientGoneError | NarwhalError} when the request has been ended from outside. */
  check(): void {
    if (this.#departure !== null) throw this.#departure;
  }

  /**
   * Registers what to cut when the client leaves.
   *
   * @returns a function that takes it back.
   */
  onLeave(cut: (why: Departure) => void): () => void {
    this.#cuts.push(cut);
    return () => {
      const at = this.#cuts.indexOf(cut);
      if (at !== -1) this.#cuts.splice(at, 1);
    };
  }

  /** Waits; ends early, with the reason, when the request is ended from outside. */
  wait(ms: number): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#departure !== null) {
        reject(this.#departure);
        return;
      }
      const timer = setTimeout(() => {
        forget();
        resolve();
      }, ms);
      const forget = this.onLeave((why) => {
        clearTimeout(timer);
        reject(why);
      });
    });
  }
}
