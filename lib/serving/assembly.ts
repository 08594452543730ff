/** Events into one JSON answer for a client that does not stream. */

import { isUtf8 } from 'node:buffer';
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
  #answer: string | null = null;
  /** The chunk that is being read, and its text; null where it is not whole characters. */
  #chunk: Buffer | null = null;
  #text: string | null = null;

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
    this.#answer = null;
    // Only what this assembly has noted is void: other parts of a list note the same record.
    if (this.#hasOutput) this.#record.firstOutputAt = null;
    this.#hasOutput = false;
  }

  event(data: Buffer): void {
    const text = this.#textOf(data);
    if (text === null) this.#assembler.add(data);
    else this.#assembler.addRaw(text);
    this.#noteOutput();
  }

  takeRun(chunk: Buffer, at: number): number {
    if (this.#chunk !== chunk) {
      this.#chunk = chunk;
      // A chunk that ends within a character is read event by event.
      this.#text = isUtf8(chunk) ? chunk.toString('latin1') : null;
    }
    if (this.#text === null) return at;
    const end = this.#assembler.takeRun(this.#text, at);
    if (end > at) this.#noteOutput();
    return end;
  }

  /** The text of an event that lies wholly in the present chunk: that was decoded once, for all its events. */
  #textOf(data: Buffer): string | null {
    if (this.#chunk === null || this.#text === null || data.buffer !== this.#chunk.buffer) return null;
    const start = data.byteOffset - this.#chunk.byteOffset;
    const end = start + data.length;
    return start < 0 || end > this.#text.length ? null : this.#text.slice(start, end);
  }

  #noteOutput(): void {
    if (this.#hasOutput || !this.#assembler.hasOutput) return;
    this.#hasOutput = true;
    this.#record.firstOutputAt ??= performance.now();
  }

  flush(): void {
    this.#chunk = null;
    this.#text = null;
    if (this.#hasOutput) this.#record.lastOutputAt = performance.now();
  }

  /** Within the leg: an answer that turns out to be too large is a fault of the engine's. */
  complete(): void {
    this.#note();
    this.#answer = this.#assembler.finish();
  }

  /** The answer's JSON text, one character a byte; call it after the leg ended well. */
  finish(): string {
    // Again: the parts of a list are complete in any order, and the row has the reason of the last one of the list.
    this.#note();
    return this.#answer ?? this.#assembler.finish();
  }

  #note(): void {
    const { usageCounts, finishReason } = this.#assembler;
    if (usageCounts !== null) noteUsage(this.#record, usageCounts);
    this.#record.finishReason = finishReason;
  }

  /** The last usage that the engine stated. */
  get usage(): object | null {
    return this.#assembler.usage;
  }
}
