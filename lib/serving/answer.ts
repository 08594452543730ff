/** The client's side of one request: headers once, bytes with back-pressure, one end. */
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { NarwhalError } from '../errors';
import { frameCode } from '../outcomes';
import { BodyWriter } from './body-writer';

const STREAM_HEADERS: OutgoingHttpHeaders = Object.freeze({
  'content-type': 'text/event-stream; charset=utf-8',
  // `no-transform` also keeps a host's compression() from holding events back.
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
});

const DONE = Buffer.from('data: [DONE]\n\n');

/** Writes one answer. Headers that the host set before stay. */
export class Answer {
  readonly #res: ServerResponse;
  readonly #writer: BodyWriter;

  constructor(res: ServerResponse) {
    this.#res = res;
    this.#writer = new BodyWriter(res);
  }

  /** The client has seen output: nothing may be retried any more. */
  hasOutput = false;

  /**
   * Sends a whole JSON answer.
   *
   * @param body its bytes; or text, of which each character is one byte (`latin1`): a head and a text go in one
   *   piece, which saves a system call's worth over a head and a buffer.
   */
  json(status: number, body: Buffer | string): void {
    const res = this.#res;
    if (res.headersSent || res.destroyed) return;
    res.statusCode = status;
    res.setHeader('content-type', 'application/json');
    res.setHeader('content-length', body.length);
    this.#writer.whole(body);
  }

  /** Sends the 200 of a stream; only once. */
  startStream(): void {
    const res = this.#res;
    if (res.headersSent || res.destroyed) return;
    for (const [name, value] of Object.entries(STREAM_HEADERS)) res.setHeader(name, value!);
    res.statusCode = 200;
  }

  /**
   * Writes whole events.
   *
   * @param drained called once when the client reads again, if this write filled its buffer.
   * @returns false when the writer should stop until then.
   */
  write(bytes: Buffer, drained: () => void): boolean {
    const res = this.#res;
    this.hasOutput = true;
    this.startStream();
    if (res.destroyed || res.writableEnded) return true;
    return this.#writer.write(bytes, drained);
  }

  /** A comment with the blank line that ends it; keeps idle connections open and is no output. */
  comment(): void {
    this.startStream();
    if (!this.#res.writableEnded && !this.#res.destroyed) this.#res.write(': keep-alive\n\n');
  }

  /** Ends a good stream. */
  done(lastBytes: Buffer | null = null): void {
    if (this.#res.writableEnded || this.#res.destroyed) return;
    this.#res.end(lastBytes === null ? DONE : Buffer.concat([lastBytes, DONE]));
  }

  /**
   * Ends a stream that has begun with one error frame. After output the frame has one form; after mere
   * comments it is the envelope that a status would bring.
   */
  endWithError(error: NarwhalError): void {
    if (this.#res.writableEnded || this.#res.destroyed) return;
    const { message } = error;
    const late = { error: { message, type: 'decode', param: null, code: frameCode(error.outcome) } };
    this.#res.end(`data: ${JSON.stringify(this.hasOutput ? late : error)}\n\n`);
  }
}
