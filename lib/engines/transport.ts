/** The one way to an engine: what a call is, what comes back, and what it may fail with. */
import type { EngineConfig } from '../config/fleet-config';

/** One HTTP call to an engine. */
export interface EngineCall {
  readonly engine: EngineConfig;
  readonly method: 'GET' | 'POST';
  /** Path below the engine's prefix, e.g. `/v1/completions`. */
  readonly path: string;
  /** The whole header list, lower case: an allow-list, built by the caller. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: CallBody | null;
}

/** A body: in one piece, or in parts that follow each other. None of them may be changed afterwards. */
export type CallBody = Buffer | readonly Buffer[];

/**
 * A body up to this size is best in one piece: it goes with its head in one write. A longer one is best in the
 * parts that it was made of, uncopied.
 */
export const ONE_PIECE_BYTES = 16 * 1024;

/** How many bytes a body has. */
export function bodyLength(body: CallBody): number {
  if (Buffer.isBuffer(body)) return body.length;
  return (body as readonly Buffer[]).reduce((sum, part) => sum + part.length, 0);
}

/** Header fields of an answer. */
export interface AnswerHeaders {
  /** @param name lower case. @returns null where the answer has no such field; of several the first. */
  get(name: string): string | null;
  /** Every field, by its name in lower case. */
  all(): Record<string, string>;
}

/** Where a call's answer goes. After `end` or `fail` nothing follows. */
export interface CallSink {
  /** The request is on a socket (no longer waiting for one). */
  sent(): void;
  head(status: number, headers: AnswerHeaders): void;
  data(chunk: Buffer): void;
  end(): void;
  fail(error: TransportError): void;
}

/** Holds a running call. */
export interface CallControl {
  /** Stops reading: the engine is held back by TCP. */
  pause(): void;
  resume(): void;
  /** Ends the call at once and closes its socket; the sink hears nothing more. */
  cut(): void;
}

/** How a call can fail below HTTP. */
export type TransportFailure = 'unreachable' | 'connect_timeout' | 'connection' | 'answer' | 'closed';

/** A failure below HTTP. Its message never holds headers or bodies. */
export class TransportError extends Error {
  override readonly name = 'TransportError';

  constructor(
    readonly failure: TransportFailure,
    message: string,
  ) {
    super(message);
  }
}

/** What carries calls to engines. */
export interface Transport {
  send(call: EngineCall, sink: CallSink): CallControl;
  /** Closes every socket; running calls fail. */
  close(): Promise<void>;
}
