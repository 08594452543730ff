/** The prefill leg: one token, one JSON answer, the handoff in it. */
import type { EngineFault } from '../engines/fault';
import type { PrefillCounts, PrefillRun } from '../engines/speed';
import { JsonLeg } from './json-leg';
import type { Departure } from './presence';

/** What a prefill answer yields. */
export interface PrefillAnswer {
  /** Raw JSON text of the handoff, exactly as received. */
  readonly handoff: Buffer;
  /** The engine's count of the prompt's tokens, where it gave one. */
  readonly promptTokens: number | null;
}

/** Runs a prefill leg. Fails with `badHandoff` for a 200 without a handoff. */
export class PrefillLeg extends JsonLeg<PrefillAnswer> {
  #run: PrefillRun | null = null;

  /** What the engine takes for it teaches admission how fast the engine is. */
  override start(): Promise<PrefillAnswer> {
    const { engine, tokens } = this.order;
    const run = engine.speed.begin(tokens, performance.now());
    this.#run = run;
    return super.start();
  }

  protected override failed(): void {
    if (this.#run !== null) this.order.engine.speed.drop(this.#run, performance.now());
  }

  protected underway(): void {
    this.timer.arm('prefill', this.order.fleet.config.serving.prefillTimeoutS);
  }

  /**
   * An answer that has already arrived is still read: a handoff in it that nobody knew of could not be
   * reclaimed. It has one turn of the event loop for that.
   */
  protected override depart(why: EngineFault | Departure): void {
    setImmediate(() => this.fail(why));
  }

  protected answered(answer: Buffer, value: Record<string, unknown>): PrefillAnswer {
    const reading = this.order.fleet.connector.take(answer, value);
    if (reading.kind === 'missing') throw this.fault('badHandoff', reading.detail);
    const counts = promptCounts(value);
    if (this.#run !== null) this.order.engine.speed.done(this.#run, counts, performance.now());
    return { handoff: reading.text, promptTokens: counts.prompt };
  }
}

function promptCounts({ usage }: Record<string, unknown>): PrefillCounts {
  const { prompt_tokens: prompt, prompt_tokens_details: details } = (usage ?? {}) as Record<string, unknown>;
  const { cached_tokens: cached } = (details ?? {}) as Record<string, unknown>;
  const count = (value: unknown): number | null => (typeof value === 'number' ? value : null);
  return { prompt: count(prompt), cached: count(cached) };
}
