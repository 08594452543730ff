/** What is learned of a request while it is served: the journal row is built from it. */
import { type FollowLeg, type LegNote, type LegStart, LegWatch } from './leg-watch';

/** Where a request stands; a client that leaves is journalled with it. */
export type Phase = 'upload' | 'queue' | 'prefill' | 'handoff' | 'decode' | 'backoff';

/** How a handoff ended: taken by a decode engine, let go by a reclaim leg, or left to its lease. */
export type HandoffEnd = 'claimed' | 'reclaimed' | 'leased';

/** One failed attempt, as the journal keeps it. */
export interface AttemptFailure {
  /** Which attempt, from 1. */
  readonly attempt: number;
  /** `prefill` or `decode`. */
  readonly leg: string;
  /** The engine. */
  readonly iid: string;
  /** The word of the outcome that it would have been. */
  readonly reason: string;
  /** The engine's status; null where it gave none. */
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
  /** Events with output that the client was sent: what is known of the length where no usage came. */
  deltas = 0;
  wantedLen: number | null = null;
  /** Projected time to the first token, as admission saw it last. */
  priceMs: number | null = null;
  /** Why `serving.admission: shadow` would have refused the request. */
  shadow: 'prompt' | 'queue' | null = null;
  finishReason: string | null = null;
  /** The worst end that a handoff of the request had: one left to its lease is never hidden by a good retry. */
  kv: HandoffEnd | null = null;
  parts: number | null = null;
  readonly failures: AttemptFailure[] = [];
  /** Every call to an engine that was made for the request. */
  readonly legs: LegNote[] = [];
  /** From and to: waits for the client's body, and between two attempts. */
  readonly waits: (readonly [number, number])[] = [];
  /** Who follows the calls: set before the first one. */
  follow: FollowLeg | null = null;
  /** What still works for the request when its answer is over: reclaim legs. */
  readonly unfinished: Promise<void>[] = [];

  /** A call to an engine begins. */
  watch(start: LegStart): LegWatch {
    return new LegWatch(start, this.legs, this.follow);
  }

  /** A wait is over, for anything but an engine or a seat. */
  waited(since: number): void {
    this.waits.push([since, performance.now()]);
  }

  noteHandoff(end: HandoffEnd): void {
    if (this.kv === null || BADNESS[end] > BADNESS[this.kv]) this.kv = end;
  }
}

const BADNESS: Readonly<Record<HandoffEnd, number>> = { claimed: 0, reclaimed: 1, leased: 2 };
