/** The prefill leg: one token, one JSON answer, the handoff in it. */
import type { EngineFault } from '../engines/fault';
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
    return { handoff: reading.text, promptTokens: promptTokens(value) };
  }
}

function promptTokens({ usage }: Record<string, unknown>): number | null {
  const count = (usage as { prompt_tokens?: unknown } | null | undefined)?.prompt_tokens;
  return typeof count === 'number' ? count : null;
}
