/** The prefill leg: one token, one JSON answer, the handoff in it. */
import type { AnswerHeaders } from '../engines/transport';
import { Leg } from './leg';

/** What a prefill answer yields. */
export interface PrefillAnswer {
  /** Raw JSON text of the handoff, exactly as received. */
  readonly handoff: Buffer;
  /** The engine's count of the prompt's tokens, where it gave one. */
  readonly promptTokens: number | null;
}

/** Runs a prefill leg. Fails with `badHandoff` for a 200 without a handoff. */
export class PrefillLeg extends Leg<PrefillAnswer> {
  readonly #parts: Buffer[] = [];
  #bytes = 0;

  protected underway(): void {
    this.timer.arm('prefill', this.order.fleet.config.serving.prefillTimeoutS);
  }

  protected opened(_headers: AnswerHeaders): void {}

  protected received(chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes > this.order.fleet.config.serving.maxResponseBytes) {
      throw this.fault('answerTooLarge', 'the prefill answer is larger than max_response_bytes');
    }
    this.#parts.push(chunk);
  }

  protected ended(): void {
    const answer = this.#parts.length === 1 ? this.#parts[0]! : Buffer.concat(this.#parts);
    const value = parseObject(answer);
    if (value === null) throw this.fault('badAnswer', 'the prefill answer is not a JSON object');
    const { dialect, connector } = this.order.fleet;
    if (value['error'] !== undefined && value['error'] !== null) {
      throw this.answerFault(dialect.frameStatus(value), answer.toString('utf8'));
    }
    const reading = connector.take(answer, value);
    if (reading.kind === 'missing') throw this.fault('badHandoff', reading.detail);
    this.succeed({ handoff: reading.text, promptTokens: promptTokens(value) });
  }
}

function parseObject(answer: Buffer): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(answer.toString('utf8'));
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}

function promptTokens({ usage }: Record<string, unknown>): number | null {
  const count = (usage as { prompt_tokens?: unknown } | null | undefined)?.prompt_tokens;
  return typeof count === 'number' ? count : null;
}
