/**
 * How fast one engine works, learned from the legs that it has served.
 *
 * A prefill engine is taken for a queue: what a leg took by itself is the time since the leg before it was
 * answered, or since it was sent, whichever is later. Legs that are answered together (one batch of the
 * engine) count as one. Times come from outside, so that nothing here needs a clock.
 */
import { type Place, Roster } from '../roster';
import { fitLine, type Line, median, type Point } from './line-fit';

/** Observations of each kind that are kept. */
export const WINDOW = 32;
/** Fewer say too little. */
export const MIN_SAMPLES = 8;
/** Answers nearer than this, in ms, or than a twentieth of the last leg, came out of one batch. */
const TOGETHER_MS = 2;
const TOGETHER_SHARE = 0.05;
/** Most answers that count as one batch. */
const MAX_BATCH = 16;
/** Weight of the newest leg in the mean share of a prompt that was in no cache. */
const CACHE_WEIGHT = 0.1;

/** A prefill leg that runs: what it computes, in tokens, and when it was sent, in monotonic ms. */
export type PrefillRun = Place<{ readonly tokens: number; readonly sentAt: number }>;

/** What an engine said of a finished prefill; both null where it said nothing. */
export interface PrefillCounts {
  readonly prompt: number | null;
  readonly cached: number | null;
}

/** What is kept of an engine over a restart. */
export interface SpeedMemory {
  readonly prefill: readonly Point[];
  readonly first_token: readonly number[];
  readonly interval: readonly Point[];
}

/** Learned facts of one engine. Times are monotonic ms, learned times seconds. */
export class EngineSpeed {
  readonly #runs = new Roster<PrefillRun['value']>();
  readonly #prefill: Point[] = [];
  readonly #firstToken: number[] = [];
  readonly #interval: Point[] = [];
  #line: Line | null = null;
  #lastEnd = Number.NEGATIVE_INFINITY;
  #batch = 0;
  /** A leg at the head of the queue was cut: what the next one took is not all its own. */
  #tainted = false;
  /** Mean share of a prompt that was not in the engine's cache. */
  #fresh = 1;
  /** When the last prefill was measured. */
  measuredAt = Number.NEGATIVE_INFINITY;
  /** Something was learned since the last `remember`. */
  isDirty = false;

  /** A prefill leg is sent. */
  begin(tokens: number, now: number): PrefillRun {
    return this.#runs.add({ tokens, sentAt: now });
  }

  /** It was answered well. Its size is the one that it was begun with, less what the engine had in its cache. */
  done(run: PrefillRun, { prompt, cached }: PrefillCounts, now: number): void {
    if (!this.#runs.remove(run)) return;
    const { tokens, sentAt } = run.value;
    const fresh = prompt === null || prompt <= 0 || cached === null ? 1 : 1 - Math.min(1, cached / prompt);
    this.#fresh += CACHE_WEIGHT * (fresh - this.#fresh);
    const work = tokens * fresh;
    const last = this.#prefill.at(-1);
    const gap = now - this.#lastEnd;
    const near = last !== undefined && gap <= Math.max(TOGETHER_MS, last[1] * 1000 * TOGETHER_SHARE);
    if (this.#tainted) {
      this.#tainted = false;
    } else if (near && sentAt < this.#lastEnd && this.#batch < MAX_BATCH) {
      this.#batch++;
      this.#prefill[this.#prefill.length - 1] = [last[0] + work, last[1] + gap / 1000];
    } else {
      this.#batch = 1;
      keep(this.#prefill, [work, (now - Math.max(sentAt, this.#lastEnd)) / 1000]);
    }
    this.#lastEnd = now;
    this.#noted(now);
  }

  /** It ended in another way; does nothing after `done`. */
  drop(run: PrefillRun, now: number): void {
    const wasFirst = this.#runs.first === run;
    if (!this.#runs.remove(run) || !wasFirst) return;
    this.#lastEnd = now;
    this.#tainted = this.#runs.size > 0;
  }

  /** Seconds from a handoff to the first output. */
  sawFirstToken(seconds: number): void {
    keep(this.#firstToken, seconds);
    this.isDirty = true;
  }

  /** Seconds between two output tokens, with so many requests in decode. */
  sawInterval(load: number, seconds: number): void {
    keep(this.#interval, [load, seconds]);
    this.isDirty = true;
  }

  /** Prefill legs in flight. */
  get running(): number {
    return this.#runs.size;
  }

  /** Prefill seconds by uncached tokens; null while too little is known. */
  get line(): Line | null {
    if (this.#prefill.length < MIN_SAMPLES) return null;
    this.#line ??= fitLine(this.#prefill);
    return this.#line;
  }

  /** Seconds between output tokens by requests in decode; null while too little is known. */
  get intervalLine(): Line | null {
    return this.#interval.length < MIN_SAMPLES ? null : fitLine(this.#interval);
  }

  /** Median seconds from a handoff to the first output; null while nothing is known. */
  get firstTokenS(): number | null {
    return this.#firstToken.length === 0 ? null : median(this.#firstToken);
  }

  /** Seconds that this many tokens of a prompt take by themselves. */
  workS(line: Line, tokens: number): number {
    return line.base + line.slope * tokens * this.#fresh;
  }

  /** Seconds until the prefills in flight are done. */
  backlogS(line: Line, now: number): number {
    let total = 0;
    const ahead = this.#runs.first?.value;
    if (ahead === undefined) return 0;
    for (const { tokens } of this.#runs) total += this.workS(line, tokens);
    const since = Math.max(ahead.sentAt, this.#lastEnd);
    return total - Math.min((now - since) / 1000, this.workS(line, ahead.tokens));
  }

  /** What to keep over a restart. */
  remember(): SpeedMemory {
    this.isDirty = false;
    return {
      prefill: [...this.#prefill],
      first_token: [...this.#firstToken],
      interval: [...this.#interval],
    };
  }

  /** Takes up what was kept. Counts as measured now. */
  recall(memory: SpeedMemory, now: number): void {
    for (const point of memory.prefill) keep(this.#prefill, point);
    for (const seconds of memory.first_token) keep(this.#firstToken, seconds);
    for (const point of memory.interval) keep(this.#interval, point);
    this.#noted(now);
    this.isDirty = false;
  }

  #noted(now: number): void {
    this.#line = null;
    this.measuredAt = now;
    this.isDirty = true;
  }
}

function keep<T>(list: T[], value: T): void {
  list.push(value);
  if (list.length > WINDOW) list.shift();
}
