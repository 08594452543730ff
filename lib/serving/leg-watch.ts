/** Notes each call to an engine while it runs: what timings, and an observer's spans, are made of. */

/** What a call to an engine is for. */
export type WatchedLeg = 'prefill' | 'decode' | 'reclaim';

/** A call to an engine as it begins. */
export interface LegStart {
  readonly leg: WatchedLeg;
  readonly iid: string;
  /** Address of the engine, e.g. `http://10.0.0.1:8000`. */
  readonly origin: string;
  readonly attempt: number;
  readonly backendId: string;
}

/** A call to an engine, from its sending to its end. Times are monotonic ms. */
export interface LegNote {
  readonly leg: WatchedLeg;
  readonly iid: string;
  readonly startedAt: number;
  /** Null while it runs. */
  endedAt: number | null;
  failed: boolean;
}

/** Follows one call. */
export interface LegFollower {
  /** Trace headers of the call, in place of the client's own. */
  readonly trace: Readonly<Record<string, string>>;
  /** Runs what sends the call, and returns what it returned. */
  send<T>(call: () => T): T;
  ended(error: Error | null): void;
}

/** Somebody who may follow the calls of one request. */
export type FollowLeg = (start: LegStart) => LegFollower | null;

/** A call that is noted and, where somebody asked for it, followed. */
export class LegWatch {
  readonly #note: LegNote;
  readonly #follower: LegFollower | null;

  constructor(start: LegStart, notes: LegNote[], follow: FollowLeg | null) {
    const { leg, iid } = start;
    this.#note = { leg, iid, startedAt: performance.now(), endedAt: null, failed: false };
    notes.push(this.#note);
    this.#follower = follow === null ? null : follow(start);
  }

  /** Trace headers of the call. */
  trace(ofClient: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
    return this.#follower === null ? ofClient : this.#follower.trace;
  }

  send<T>(call: () => T): T {
    return this.#follower === null ? call() : this.#follower.send(call);
  }

  end(error: Error | null): void {
    if (this.#note.endedAt !== null) return;
    this.#note.endedAt = performance.now();
    this.#note.failed = error !== null;
    this.#follower?.ended(error);
  }
}
