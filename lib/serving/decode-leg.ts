/** The decode leg: a stream of events for a consumer, until it is good, cut or wrong. */
import type { AnswerHeaders } from '../engines/transport';
import type { Route } from '../request/schema';
import { AssemblyError } from './assembling/assembler';
import { inspectChunk } from './chunk';
import { Leg, type LegOrder } from './leg';
import { SseLimitError, SseReader, type SseSink } from './sse';

/** What becomes of the events: relayed to the client, or assembled into one answer. */
export interface StreamConsumer {
  /** The events of one engine read are over: write what they gave. */
  flush(): void;
  event(data: Buffer, frame: Buffer | null): void;
  /** As `SseSink.takeRun`. What it takes is neither an error frame nor the end. */
  takeRun?(chunk: Buffer, at: number): number;
  /** The stream was good to its end. What it throws is a fault of the answer. */
  complete?(): void;
  readonly hasOutput: boolean;
  readonly finishReason: string | null;
  /** Called before the first event: how to hold the engine back while the client does not read. */
  attach(flow: Flow): void;
}

/** Holds the engine back, and lets it go on. */
export interface Flow {
  hold(): void;
  go(): void;
}

const ERROR = Buffer.from('"error"');
/** The end of it: a search stops at each first letter, and an event has 40 quotes and four letters r. */
const ERROR_END = Buffer.from('rror"');
const DONE = Buffer.from('[DONE]');
const OPEN_BRACE = 0x7b;
/** How long the engine's socket may stay open behind `[DONE]` before it is closed. */
const LINGER_MS = 1000;

/** Runs a decode leg. The consumer has everything when the result resolves. */
export class DecodeLeg extends Leg<void> implements SseSink, Flow {
  readonly #consumer: StreamConsumer;
  readonly #route: Route;
  readonly #reader: SseReader;
  #done = false;
  #outputSeen = false;
  #held = false;
  #linger: NodeJS.Timeout | null = null;
  /** What is being read, and whether the word that an error frame has stands anywhere in it; null: not looked yet. */
  #chunk: Buffer | null = null;
  #chunkHasError: boolean | null = null;

  constructor(order: LegOrder, route: Route, consumer: StreamConsumer) {
    super(order);
    this.#route = route;
    this.#consumer = consumer;
    this.#reader = new SseReader(this, { maxEventBytes: order.fleet.config.serving.maxResponseBytes });
    consumer.attach(this);
  }

  protected underway(): void {
    this.timer.arm('first_token', this.limits.firstTokenTimeoutS);
  }

  protected opened(headers: AnswerHeaders): void {
    if (headers.get('content-type')?.startsWith('application/json')) {
      throw this.fault('badAnswer', 'the decode answer is JSON, not an event stream');
    }
  }

  protected received(chunk: Buffer): void {
    this.#chunk = chunk;
    this.#chunkHasError = null;
    try {
      this.#reader.push(chunk);
    } catch (error) {
      throw this.#faultOf(error);
    }
    this.#chunk = null;
    this.#consumer.flush();
    if (this.#done) this.#finish();
  }

  protected ended(): void {
    const rest = this.#reader.end();
    if (rest !== null && (isDone(rest) || isJson(rest))) {
      try {
        this.event(rest, null);
      } catch (error) {
        throw this.#faultOf(error);
      }
    }
    this.#consumer.flush();
    this.#finish();
  }

  event(data: Buffer, frame: Buffer | null): void {
    if (data.length === 0) return;
    if (data[0] !== OPEN_BRACE) {
      if (!isDone(data)) throw this.fault('badAnswer', 'an event of the stream is not a JSON object');
      this.#done = true;
      this.#reader.stop();
      return;
    }
    if (this.#mayBeError(data, frame)) this.#checkError(data);
    this.#consumer.event(data, frame);
    this.#watch();
  }

  takeRun(chunk: Buffer, at: number): number {
    const end = this.#consumer.takeRun?.(chunk, at) ?? at;
    if (end > at) this.#watch();
    return end;
  }

  hold(): void {
    this.#held = true;
    this.control.pause();
    // The silence is the client's, not the engine's: only the request's deadline holds.
    this.timer.arm('gap', 0);
  }

  go(): void {
    if (!this.#held) return;
    this.#held = false;
    this.control.resume();
    if (!this.#done) this.timer.arm('gap', this.limits.decodeReadTimeoutS);
  }

  protected override afterSettled(): void {
    if (this.#linger !== null) clearTimeout(this.#linger);
  }

  #watch(): void {
    if (this.#held) return;
    if (this.#outputSeen) {
      this.timer.touch();
    } else if (this.#consumer.hasOutput) {
      this.#outputSeen = true;
      this.timer.arm('gap', this.limits.decodeReadTimeoutS);
    }
  }

  /** One search serves all events that lie wholly in what is being read (2 us of a small request). */
  #mayBeError(data: Buffer, frame: Buffer | null): boolean {
    if (frame === null || this.#chunk === null) return hasError(data);
    this.#chunkHasError ??= hasError(this.#chunk);
    return this.#chunkHasError && hasError(data);
  }

  #checkError(data: Buffer): void {
    const text = data.toString('utf8');
    let chunk: unknown;
    try {
      chunk = JSON.parse(text);
    } catch {
      throw this.fault('badAnswer', 'an event of the stream is not JSON');
    }
    if (inspectChunk(chunk, this.#route).error === null) return;
    throw this.answerFault(this.order.fleet.dialect.frameStatus(chunk), text);
  }

  /** What a throw in mid-stream is. What came before it in the same read is still the client's. */
  #faultOf(error: unknown): unknown {
    this.#consumer.flush();
    if (error instanceof SseLimitError) return this.fault('answerTooLarge', error.message);
    if (error instanceof AssemblyError) {
      // Well-formed, but not what can be put together: a request may ask for that with a guard left out.
      const outcome = error.kind === 'limit' ? 'answerTooLarge' : 'badAnswer';
      return this.fault(outcome, error.message, { isBlameless: error.kind === 'invalid' });
    }
    if (error instanceof SyntaxError) return this.fault('badAnswer', 'an event of the stream is not JSON');
    return error;
  }

  #finish(): void {
    if (this.#consumer.finishReason === null) {
      const end = this.#done ? 'with [DONE] but' : 'without [DONE] and';
      throw this.fault('engineConnection', `the stream ended ${end} without a finish_reason`);
    }
    try {
      this.#consumer.complete?.();
    } catch (error) {
      throw this.#faultOf(error);
    }
    if (this.#done) {
      this.#linger = setTimeout(() => this.control.cut(), LINGER_MS);
      this.#linger.unref();
    }
    this.succeed();
  }
}

/** Inside a JSON string the quotes would be escaped: these bytes are a key or a whole value. */
function hasError(bytes: Buffer): boolean {
  return bytes.includes(ERROR_END) && bytes.includes(ERROR);
}

function isDone(data: Buffer): boolean {
  return data.length < 16 && (data.equals(DONE) || data.toString('latin1').trim() === '[DONE]');
}

function isJson(data: Buffer): boolean {
  try {
    JSON.parse(data.toString('utf8'));
    return true;
  } catch {
    return false;
  }
}
