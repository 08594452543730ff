/** What a parser tells of one answer after another, and whether it told it in its order. */
import type { RawHeaders } from '../../../lib/engines/wire/raw-headers';
import { ResponseParser, type ResponseSink } from '../../../lib/engines/wire/response-parser';

export interface HeardAnswer {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: Buffer;
  /** Null until the answer is whole. */
  readonly reusable: boolean | null;
  /** Body pieces for each read, in which one may be at most. */
  readonly mostPiecesInARead: number;
}

/** Feeds a parser from one buffer that is overwritten after each read, as a connection's is. */
export class Listener implements ResponseSink {
  readonly answers: HeardAnswer[] = [];
  readonly #parser = new ResponseParser(this);
  #head: { status: number; headers: RawHeaders } | null = null;
  #parts: Buffer[] = [];
  #piecesInRead = 0;
  #most = 0;

  expect(): void {
    this.#parser.expect();
  }

  read(bytes: Buffer): void {
    const shared = Buffer.from(bytes);
    this.#piecesInRead = 0;
    try {
      this.#parser.push(shared);
    } finally {
      shared.fill(0x21);
    }
  }

  end(): boolean {
    return this.#parser.end();
  }

  /** What has been heard of an answer that is not whole. */
  get unfinished(): { readonly status: number; readonly body: Buffer } | null {
    return this.#head === null ? null : { status: this.#head.status, body: Buffer.concat(this.#parts) };
  }

  head(status: number, headers: RawHeaders): void {
    if (this.#head !== null) throw new Error('a second head');
    this.#head = { status, headers };
  }

  body(bytes: Buffer): void {
    if (this.#head === null) throw new Error('a body before the head');
    if (bytes.length === 0) throw new Error('an empty piece');
    this.#piecesInRead += 1;
    this.#most = Math.max(this.#most, this.#piecesInRead);
    this.#parts.push(bytes);
  }

  complete(reusable: boolean): void {
    if (this.#head === null) throw new Error('an end before the head');
    const { status, headers } = this.#head;
    const body = Buffer.concat(this.#parts);
    this.answers.push({ status, headers: headers.all(), body, reusable, mostPiecesInARead: this.#most });
    this.#head = null;
    this.#parts = [];
    this.#most = 0;
  }
}

/** @param cuts places at which the bytes are cut, in any order. */
export function cutAt(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const places = [...new Set([0, ...cuts.filter((cut) => cut > 0 && cut < bytes.length), bytes.length])];
  places.sort((a, b) => a - b);
  return places.slice(1).map((end, i) => bytes.subarray(places[i], end));
}

/** Every byte a read of its own. */
export function byteByByte(bytes: Buffer): Buffer[] {
  return Array.from(bytes, (_byte, at) => bytes.subarray(at, at + 1));
}
