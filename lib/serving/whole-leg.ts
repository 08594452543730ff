/** A leg that answers with one JSON document, which is the client's answer as it is. */
import { JsonLeg } from './json-leg';

/** What a whole answer yields. */
export interface WholeAnswer {
  /** The answer's bytes, for the client as they are. */
  readonly bytes: Buffer;
  readonly value: Readonly<Record<string, unknown>>;
}

/**
 * Runs the one leg of a request that an engine of role `both` serves alone and without a stream: vLLM
 * refuses `prompt_logprobs` with `stream: true`.
 */
export class WholeLeg extends JsonLeg<WholeAnswer> {
  protected underway(): void {
    // Nothing comes before the whole answer: only the request's deadline holds.
    this.timer.arm('gap', 0);
  }

  protected answered(bytes: Buffer, value: Record<string, unknown>): WholeAnswer {
    return { bytes, value };
  }
}
