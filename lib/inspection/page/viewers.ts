/**
 * Who watches the fleet page: one frame a second for all of them, over server-sent events.
 *
 * There is one timer while somebody watches, and none while nobody does. A frame is the whole state, so a
 * viewer that does not read in time is left out until it does, and nothing piles up.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';

/** How many may watch at a time. */
export const MAX_VIEWERS = 16;

const EVERY_MS = 1000;

/** Frames that a viewer may miss in a row before its place is given up. */
const MAX_MISSED = 30;

/** The open streams of events. */
export class Viewers {
  readonly #frame: () => string | null;
  readonly #everyMs: number;
  /** Each with the frames that it has missed in a row. */
  readonly #missed = new Map<ServerResponse, number>();
  #timer: NodeJS.Timeout | null = null;

  /** @param frame makes the text of a frame, without line ends in it; null where it cannot. */
  constructor(frame: () => string | null, everyMs = EVERY_MS) {
    this.#frame = frame;
    this.#everyMs = everyMs;
  }

  get count(): number {
    return this.#missed.size;
  }

  get isFull(): boolean {
    return this.count >= MAX_VIEWERS;
  }

  /** Begins a stream: status, headers, the first frame. */
  add(req: IncomingMessage, res: ServerResponse): void {
    const event = this.#event();
    res.statusCode = 200;
    res.setHeader('content-type', 'text/event-stream; charset=utf-8');
    // Without no-transform a compressing host would hold frames back.
    res.setHeader('cache-control', 'no-store, no-transform');
    res.setHeader('x-accel-buffering', 'no');
    // The server's close() must not wait for a socket that is kept for a next request.
    if (req.httpVersionMajor === 1) res.setHeader('connection', 'close');
    this.#missed.set(res, 0);
    res.once('close', () => this.#remove(res));
    if (event === null) res.flushHeaders();
    else res.write(event);
    this.#timer ??= setInterval(() => this.#send(), this.#everyMs).unref();
  }

  /** Ends every stream at once. */
  close(): void {
    for (const res of [...this.#missed.keys()]) {
      this.#remove(res);
      // What a viewer has not read would have to be read before its end.
      if (res.writableNeedDrain) res.destroy();
      else res.end();
    }
  }

  #send(): void {
    const event = this.#event();
    if (event === null) return;
    for (const [res, missed] of this.#missed) {
      if (!res.writableNeedDrain) {
        this.#missed.set(res, 0);
        res.write(event);
      } else if (missed < MAX_MISSED) this.#missed.set(res, missed + 1);
      else res.destroy();
    }
  }

  #event(): string | null {
    const frame = this.#frame();
    return frame === null ? null : `data: ${frame}\n\n`;
  }

  #remove(res: ServerResponse): void {
    this.#missed.delete(res);
    if (this.#missed.size > 0 || this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }
}
