/** A leg whose answer is one JSON object: it is collected, bounded, and read. */
import type { AnswerHeaders } from '../engines/transport';
import { parseObject } from '../json/parse-object';
import { Leg } from './leg';

/** Runs a leg that does not stream. */
export abstract class JsonLeg<T> extends Leg<T> {
  readonly #parts: Buffer[] = [];
  #bytes = 0;

  /**
   * Takes the whole answer.
   *
   * @param answer its bytes as received.
   * @param value its parsed form; known to be an object without an `error`.
   */
  protected abstract answered(answer: Buffer, value: Record<string, unknown>): T;

  protected opened(_headers: AnswerHeaders): void {}

  protected received(chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes > this.order.fleet.config.serving.maxResponseBytes) {
      throw this.fault('answerTooLarge', 'the answer is larger than max_response_bytes');
    }
    this.#parts.push(chunk);
  }

  protected ended(): void {
    const answer = this.#parts.length === 1 ? this.#parts[0]! : Buffer.concat(this.#parts);
    const value = parseObject(answer);
    if (value === null) throw this.fault('badAnswer', 'the answer is not a JSON object');
    if (value['error'] !== undefined && value['error'] !== null) {
      const status = this.order.fleet.dialect.frameStatus(value);
      throw this.answerFault(status, answer.toString('utf8'));
    }
    this.succeed(this.answered(answer, value));
  }
}
