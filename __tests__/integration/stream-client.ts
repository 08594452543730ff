/** A client that reads a stream as it comes. */
import { type ClientRequest, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import { until } from './gateway';

export class StreamClient {
  status = 0;
  headers: IncomingHttpHeaders = {};
  /** What has arrived so far. */
  text = '';
  /** The body came to its proper end. */
  ended = false;
  /** The connection is over. */
  closed = false;
  readonly #req: ClientRequest;
  #res: IncomingMessage | null = null;

  constructor(url: string, body: object, headers: Record<string, string> = {}) {
    const all = { 'content-type': 'application/json', ...headers };
    this.#req = request(url, { method: 'POST', headers: all, agent: false }, (res) => this.#read(res));
    this.#req
      .on('error', () => undefined)
      .on('close', () => {
        this.closed = true;
      });
    this.#req.end(JSON.stringify(body));
  }

  #read(res: IncomingMessage): void {
    this.#res = res;
    this.status = res.statusCode ?? 0;
    this.headers = res.headers;
    res.setEncoding('utf8');
    res.on('data', (piece: string) => {
      this.text += piece;
    });
    res.on('error', () => undefined);
    res.on('end', () => {
      this.ended = true;
    });
  }

  /** Waits until this text has arrived. */
  async sees(text: string): Promise<void> {
    await until(() => this.text.includes(text) || this.closed);
    if (!this.text.includes(text)) throw new Error(`never arrived: ${text}; but: ${this.text}`);
  }

  /** Reads no more until `resume`. */
  pause(): void {
    this.#res?.pause();
  }

  resume(): void {
    this.#res?.resume();
  }

  /** Leaves. */
  leave(): void {
    this.#req.destroy();
  }

  async end(): Promise<void> {
    await until(() => this.closed);
  }
}
