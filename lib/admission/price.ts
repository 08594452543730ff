/**
 * The price of a request: its projected time to the first output, from what the engines' legs have shown.
 *
 * Wait already spent, plus the prefill work in flight on the engine that would take it, plus its own prefill,
 * plus the usual time from handoff to first output. While too little is known there is no price, and the
 * gate stays open.
 */
import type { AdmissionMode } from '../config/fleet-config';
import type { Engine } from '../engines/engine';
import type { Fleet } from '../engines/fleet';
import type { Line } from '../engines/line-fit';
import { leastLoaded } from '../engines/placement';

/** An idle engine that was not measured for this long is let have a request whatever it would cost, ms. */
const PROBE_AFTER_MS = 30_000;

/** Projections that are compared with what came of them. */
const COMPARED = 64;
const MIN_COMPARED = 16;
/** So many of ten requests should be in time: the price is taken as so much higher as that needs, within bounds. */
const IN_TIME = 0.9;
const MAX_CAUTION = 1.25;

/** A projection; seconds. */
export interface Price {
  /** All of it. */
  readonly totalS: number;
  /** What the request would take on an idle engine. */
  readonly aloneS: number;
  readonly engine: Engine;
}

/** What a price means for a request. */
export interface PriceVerdict {
  readonly priceS: number;
  /** Why it is too high; null where it is not. */
  readonly refusal: 'prompt' | 'queue' | null;
  /** By how much it is too high, the wait already spent not counted; seconds. */
  readonly excessS: number;
}

/** Prices the requests of one fleet. */
export class Pricing {
  readonly mode: AdmissionMode;
  /** Highest price that is let in. */
  readonly limitS: number;
  readonly #fleet: Fleet;
  /** Actual by projected time, of the latest requests. */
  readonly #ratios: number[] = [];
  /** By how much prices are raised before they are judged. */
  #caution = 1;

  constructor(fleet: Fleet) {
    const { slo, serving } = fleet.config;
    this.#fleet = fleet;
    this.mode = slo?.ttftS == null ? 'open' : serving.admission;
    this.limitS = (slo?.ttftS ?? Number.POSITIVE_INFINITY) * (1 + serving.admissionMargin);
  }

  /**
   * Judges a request.
   *
   * @param tokens length of its prompt.
   * @param parts prompts in it; they are spread over the engines.
   * @param spentS wait that is over.
   * @returns null where nothing can be said.
   */
  judge(tokens: number, parts: number, spentS: number, now: number): PriceVerdict | null {
    if (this.mode === 'open') return null;
    const price = this.project(tokens, parts, now);
    if (price === null) return null;
    const { totalS, aloneS, engine } = price;
    const priceS = spentS + totalS;
    const excessS = Math.max(0, totalS * this.#caution - this.limitS);
    const mayProbe = engine.speed.running === 0 && now - engine.speed.measuredAt > PROBE_AFTER_MS;
    if (priceS * this.#caution <= this.limitS || mayProbe) return { priceS, refusal: null, excessS };
    return { priceS, refusal: aloneS > this.limitS ? 'prompt' : 'queue', excessS };
  }

  /** By how much prices are raised before they are judged: 1 is not at all. */
  get caution(): number {
    return this.#caution;
  }

  /** What came of a price: the actual time to the first output. */
  saw(priceS: number, actualS: number): void {
    if (!(priceS > 0)) return;
    this.#ratios.push(actualS / priceS);
    if (this.#ratios.length > COMPARED) this.#ratios.shift();
    if (this.#ratios.length < MIN_COMPARED) return;
    const sorted = [...this.#ratios].sort((a, b) => a - b);
    const wanted = sorted[Math.floor(sorted.length * IN_TIME)]!;
    this.#caution = Math.min(Math.max(wanted, 1), MAX_CAUTION);
  }

  /** Projects a request that would be placed now; null while too little is known. */
  project(tokens: number, parts: number, now: number): Price | null {
    // What is served in one leg has no prefill that could be measured by itself.
    if (this.#fleet.shape() !== 'split') return null;
    const engines = this.#fleet.liveOf('prefill');
    const engine = leastLoaded(engines, 'prefill', 0, now);
    if (engine === null) return null;
    const line = engine.speed.line ?? pooled(engines);
    if (line === null) return null;
    const share = tokens / Math.max(1, Math.min(parts, engines.length));
    const aloneS = engine.speed.workS(line, share) + this.#firstTokenS(now);
    return { aloneS, totalS: engine.speed.backlogS(line, now) + aloneS, engine };
  }

  #firstTokenS(now: number): number {
    const engine = leastLoaded(this.#fleet.liveOf('decode'), 'decode', 0, now);
    return engine?.speed.firstTokenS ?? 0;
  }
}

/** What is known of the other engines stands in for one that is new; null where nothing is. */
function pooled(engines: readonly Engine[]): Line | null {
  const lines = engines.map(({ speed }) => speed.line).filter((line) => line !== null);
  if (lines.length === 0) return null;
  const mean = (pick: (line: Line) => number): number =>
    lines.reduce((sum, line) => sum + pick(line), 0) / lines.length;
  return { base: mean(({ base }) => base), slope: mean(({ slope }) => slope) };
}
