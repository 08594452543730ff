/** What is learned of a request while it is served: the journal row is built from it. */

/** Where a request stands; a client that leaves is journalled with it. */
export type Phase = 'upload' | 'queue' | 'prefill' | 'handoff' | 'decode' | 'backoff';

/** How a handoff ended: taken by a decode engine, let go by a reclaim leg, or left to its lease. */
export type HandoffEnd = 'claimed' | 'reclaimed' | 'leased';

/** One failed attempt, as the journal keeps it. */
export interface AttemptFailure {
  readonly attempt: number;
  readonly leg: string;
  readonly iid: string;
  readonly reason: string;
  readonly status: number | null;
  /** At most 240 characters; never a key, never text of the client. */
  readonly message: string;
}

/** Mutable facts of one served request. Times are monotonic milliseconds. Serving is the only writer. */
export class ServingRecord {
  phase: Phase = 'upload';
  attempts = 0;
  decodeAttempts = 0;
  prefillIid: string | null = null;
  decodeIid: string | null = null;
  prefillAnsweredAt: number | null = null;
  firstOutputAt: number | null = null;
  lastOutputAt: number | null = null;
  queueWaitMs: number | null = null;
  /** Tokens of the prompt: the engine's count once it is known, the estimate before. */
  inputLen: number | null = null;
  outputLen: number | null = null;
  wantedLen: number | null = null;
  finishReason: string | null = null;
  /** The worst end that a handoff of the request had: one left to its lease is never hidden by a good retry. */
  kv: HandoffEnd | null = null;
  parts: number | null = null;
  readonly failures: AttemptFailure[] = [];
  /** What still works for the request when its answer is over: reclaim legs. */
  readonly unfinished: Promise<void>[] = [];

  noteHandoff(end: HandoffEnd): void {
    if (this.kv === null || BADNESS[end] > BADNESS[this.kv]) this.kv = end;
  }
}

const BADNESS: Readonly<Record<HandoffEnd, number>> = { claimed: 0, reclaimed: 1, leased: 2 };
