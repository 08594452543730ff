/** Events to the client as they come: no re-serialisation, one write for one engine read. */

import type { Route } from '../request/schema';
import type { Answer } from './answer';
import { inspectChunk } from './chunk';
import type { Flow, StreamConsumer } from './decode-leg';
import type { ServingRecord } from './record';
import { noteUsage } from './usage';

/** Without the first quote: a search stops at each first letter, and an event has 40 quotes. */
const FINISH = Buffer.from('finish_reason"');
const USAGE = Buffer.from('usage"');
const PREFIX = Buffer.from('data: ');
const BLANK = Buffer.from('\n\n');
const QUOTE = 0x22;
const COLON = 0x3a;
const SPACE = 0x20;
const LOWER_N = 0x6e;
const LF = 0x0a;

/** A chunk of which `inspectChunk` has found a finish reason. */
interface Chunk {
  readonly choices: readonly { readonly index?: unknown; readonly finish_reason?: unknown }[];
}

/** How one stream is relayed. */
export interface RelayOptions {
  readonly route: Route;
  /** The client asked for the usage frame. */
  readonly wantsUsage: boolean;
  /** Choices that the stream has: it is whole when each has a finish reason. Default 1. */
  readonly choices?: number;
  /** Rewrites an event before it goes on: one part of a list of prompts. */
  readonly rewrite?: (data: Buffer) => Buffer;
  /** Called with each usage that the engine states, and its event; the last one counts. */
  readonly onUsage?: (usage: object, event: Buffer) => void;
}

/**
 * Relays one decode stream. Until the first output, events are held back, so that an earlier failure
 * keeps its HTTP status. After it, an event is looked at without being parsed (0.4 us against 2.5).
 */
export class Relay implements StreamConsumer {
  hasOutput = false;
  finishReason: string | null = null;
  readonly #answer: Answer;
  readonly #record: ServingRecord;
  readonly #options: RelayOptions;
  #flow: Flow | null = null;
  /** Choices that have ended, by index. */
  readonly #finished = new Set<unknown>();
  /** What the present engine read gives the client. */
  #out: Buffer[] = [];
  /** Frames that touch each other in the engine's read go on as one slice. */
  #run: Buffer | null = null;

  constructor(answer: Answer, record: ServingRecord, options: RelayOptions) {
    this.#answer = answer;
    this.#record = record;
    this.#options = options;
  }

  attach(flow: Flow): void {
    this.#flow = flow;
    // A new attempt: what an earlier one held back was never shown.
    this.#out = [];
    this.#run = null;
    this.finishReason = null;
    this.#finished.clear();
  }

  event(data: Buffer, frame: Buffer | null): void {
    if (this.#look(data)) return;
    if (this.#options.rewrite !== undefined) this.#add(framed(this.#options.rewrite(data)));
    else if (frame === null) this.#add(framed(data));
    else this.#addFrame(frame);
  }

  flush(): void {
    if (!this.hasOutput) return;
    this.#endRun();
    if (this.#out.length === 0) return;
    const bytes = this.#out.length === 1 ? this.#out[0]! : Buffer.concat(this.#out);
    this.#out = [];
    this.#record.lastOutputAt = performance.now();
    if (!this.#answer.write(bytes, () => this.#flow?.go())) this.#flow?.hold();
  }

  /** Notes what the event says. Returns true for one that is not for the client. */
  #look(data: Buffer): boolean {
    if (this.hasOutput && !this.#mayMatter(data)) {
      this.#record.deltas++;
      return false;
    }
    const { route, wantsUsage, onUsage } = this.#options;
    const chunk: unknown = JSON.parse(data.toString('utf8'));
    const facts = inspectChunk(chunk, route);
    if (facts.finishReason !== null) {
      this.#record.finishReason = facts.finishReason;
      if (this.#allFinished(chunk as Chunk)) this.finishReason = facts.finishReason;
    }
    if (facts.usage !== null) {
      if (onUsage === undefined) noteUsage(this.#record, facts.usage);
      else onUsage(facts.usage, data);
    }
    if (facts.output) this.#record.deltas++;
    if (facts.output && !this.hasOutput) {
      this.hasOutput = true;
      this.#record.firstOutputAt ??= performance.now();
    }
    return facts.usageOnly && !wantsUsage;
  }

  #allFinished({ choices }: Chunk): boolean {
    for (const { index, finish_reason: reason } of choices) {
      if (typeof reason === 'string') this.#finished.add(index);
    }
    return this.#finished.size >= (this.#options.choices ?? 1);
  }

  /** Whether an event states a usage or a finish reason. */
  #mayMatter(data: Buffer): boolean {
    return (this.finishReason === null && statesValue(data, FINISH)) || statesValue(data, USAGE);
  }

  #addFrame(frame: Buffer): void {
    const run = this.#run;
    if (run !== null && run.buffer === frame.buffer && run.byteOffset + run.length === frame.byteOffset) {
      this.#run = Buffer.from(run.buffer, run.byteOffset, run.length + frame.length);
      return;
    }
    this.#endRun();
    this.#run = frame;
  }

  #add(bytes: Buffer): void {
    this.#endRun();
    this.#out.push(bytes);
  }

  #endRun(): void {
    if (this.#run !== null) this.#out.push(this.#run);
    this.#run = null;
  }
}

/** Whether a member of this name, which is given without its first quote, occurs with another value than null. */
function statesValue(data: Buffer, name: Buffer): boolean {
  let at = data.indexOf(name);
  while (at !== -1) {
    const isName = data[at - 1] === QUOTE;
    at += name.length;
    while (data[at] === SPACE || data[at] === COLON || data[at] === LF) at++;
    if (isName && data[at] !== LOWER_N) return true;
    at = data.indexOf(name, at);
  }
  return false;
}

/** An event in its normal form. A line break between JSON tokens becomes a blank. */
function framed(data: Buffer): Buffer {
  const frame = Buffer.concat([PREFIX, data, BLANK]);
  for (let i = frame.indexOf(LF); i < frame.length - BLANK.length; i = frame.indexOf(LF, i)) frame[i] = SPACE;
  return frame;
}
