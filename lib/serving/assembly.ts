/** Events into one JSON answer for a client that does not stream. */

import type { Route } from '../request/schema';
import { Assembler, type AssemblerOptions } from './assembling/assembler';
import type { Flow, StreamConsumer } from './decode-leg';
import type { ServingRecord } from './record';
import { noteUsage } from './usage';

/** Collects one decode stream. A new attempt starts from nothing. */
export class Assembly implements StreamConsumer {
  readonly #route: Route;
  readonly #options: AssemblerOptions;
  readonly #record: ServingRecord;
  #assembler: Assembler;
  #hasOutput = false;

  constructor(route: Route, options: AssemblerOptions, record: ServingRecord) {
    this.#route = route;
    this.#options = options;
    this.#record = record;
    this.#assembler = new Assembler(route, options);
  }

  get hasOutput(): boolean {
    return this.#hasOutput;
  }

  get finishReason(): string | null {
    return this.#assembler.finishReason;
  }

  /** An assembly takes everything at once: it never holds the engine back. */
  attach(_flow: Flow): void {
    this.#assembler.discard();
    this.#assembler = new Assembler(this.#route, this.#options);
    // Only what this assembly has noted is void: other parts of a list note the same record.
    if (this.#hasOutput) this.#record.firstOutputAt = null;
    this.#hasOutput = false;
  }

  event(data: Buffer): void {
    this.#assembler.add(data);
    if (this.#hasOutput || !this.#assembler.hasOutput) return;
    this.#hasOutput = true;
    this.#record.firstOutputAt ??= performance.now();
  }

  flush(): void {
    if (this.#hasOutput) this.#record.lastOutputAt = performance.now();
  }

  /** The answer's JSON text, one character a byte; call it after the leg ended well. */
  finish(): string {
    const { usage, finishReason } = this.#assembler;
    if (usage !== null) noteUsage(this.#record, usage);
    this.#record.finishReason = finishReason;
    return this.#assembler.finish();
  }

  /** The last usage that the engine stated. */
  get usage(): object | null {
    return this.#assembler.usage;
  }
}
