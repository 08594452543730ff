import type { ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks';
import type { StubCall } from './stub-call';

/**
 * Writes one answer and keeps the call's record. Every wait ends at once when the connection goes, so that no
 * timer outlives the call.
 */
export class Wire {
  readonly #res: ServerResponse;
  readonly #call: StubCall;
  readonly #gone: Promise<void>;
  #isGone = false;
  #cutByUs = false;

  constructor(res: ServerResponse, call: StubCall) {
    this.#res = res;
    this.#call = call;
    this.#gone = new Promise((resolve) => {
      res.once('close', () => {
        this.#isGone = true;
        call.responseEnded = res.writableFinished;
        call.closedEarly = !res.writableFinished && !this.#cutByUs;
        call.closedAt = performance.now();
        resolve();
      });
    });
    res.once('finish', () => {
      call.responseEnded = true;
    });
  }

  /** True once the connection is closed or the answer is over. */
  get gone(): boolean {
    return this.#isGone;
  }

  /** Sets the head; Node sends it with the first byte of the body. */
  head(status: number, headers: Readonly<Record<string, string | string[]>>): void {
    if (this.#isGone) return;
    this.#call.status = status;
    this.#res.statusCode = status;
    // uvicorn says nothing about keep-alive; Node's own Keep-Alive hint would help a client more than it may count on.
    if (headers['connection'] === undefined) this.#res.removeHeader('connection');
    this.#res.setHeader('server', 'uvicorn');
    for (const [name, value] of Object.entries(headers)) this.#res.setHeader(name, value);
  }

  /** Sends the head without a body. */
  flushHead(): void {
    if (!this.#isGone) this.#res.flushHeaders();
  }

  /** Writes bytes and waits while the socket is full. */
  async write(bytes: Buffer): Promise<void> {
    if (this.#isGone) return;
    this.#call.bytesWritten += bytes.length;
    if (this.#res.write(bytes)) return;
    this.#call.paused = true;
    await Promise.race([this.#gone, new Promise<void>((resolve) => this.#res.once('drain', resolve))]);
  }

  /** Ends the answer, with a last piece of body or without. */
  end(bytes?: Buffer): void {
    if (this.#isGone) return;
    this.#call.bytesWritten += bytes?.length ?? 0;
    this.#res.end(bytes);
  }

  /** Waits `ms`, or until the connection goes. */
  async sleep(ms: number): Promise<void> {
    if (ms <= 0 || this.#isGone) return;
    let timer: NodeJS.Timeout | undefined;
    const over = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, ms);
    });
    await Promise.race([this.#gone, over]);
    clearTimeout(timer);
  }

  /** One turn of the event loop, so that what was written leaves as a piece of its own. */
  turn(): Promise<void> {
    return new Promise((resolve) => setImmediate(resolve));
  }

  /** Resolves when the connection is closed or the answer is over. */
  untilGone(): Promise<void> {
    return this.#gone;
  }

  /** The connection will be cut from this side: that is not the peer leaving. */
  expectCut(): void {
    this.#cutByUs = true;
  }

  /** Sends RST. */
  reset(): void {
    this.expectCut();
    this.#res.socket?.resetAndDestroy();
  }
}
