/**
 * HTTP/1.1 answers out of the bytes of one connection. Pure: no sockets.
 *
 * Strict where leniency would let one answer be taken for another: framing that is stated twice, or in a way
 * that is not known here, is an error. Source: RFC 9112, sections 2.2, 4, 5, 6 and 7.
 */
import { type AnswerHead, readHead } from './answer-head';
import { CHUNKED, UNTIL_CLOSE } from './framing';
import type { RawHeaders } from './raw-headers';
import { ResponseError } from './response-error';

/** What is heard of an answer, in this order. */
export interface ResponseSink {
  head(status: number, headers: RawHeaders): void;
  /** The body bytes of one `push`, copied: the receiver may keep them. */
  body(bytes: Buffer): void;
  /** @param reusable whether the connection may carry another call. */
  complete(reusable: boolean): void;
}

type Place =
  | 'idle'
  | 'head'
  | 'fixed'
  | 'until_close'
  | 'size'
  | 'size_blank'
  | 'size_extension'
  | 'size_lf'
  | 'chunk'
  | 'chunk_cr'
  | 'chunk_lf'
  | 'trailer'
  | 'trailer_lf';

const CR = 0x0d;
const LF = 0x0a;
const SPACE = 0x20;
const TAB = 0x09;
const SEMICOLON = 0x3b;
const HEAD_END = Buffer.from('\r\n\r\n');
const HEAD_START = 'HTTP/1.';
/** Longest head, longest extensions of one chunk, and longest trailers. */
const MAX_HEAD_BYTES = 64 * 1024;
/** Hex digits of a chunk's size: more than any answer could have. */
const MAX_SIZE_DIGITS = 8;
const NOTHING = Buffer.alloc(0);

/** Reads one answer after another. After an error it must not be used further. */
export class ResponseParser {
  readonly #sink: ResponseSink;
  #place: Place = 'idle';
  /** A head that is not whole yet. */
  #held: Buffer = NOTHING;
  /** Bytes of the body, or of the chunk, that are still to come. */
  #left = 0;
  #digits = 0;
  /** Bytes of the present chunk's extensions, or of trailers, and of the present line of them. */
  #extra = 0;
  #line = 0;
  #reusable = false;
  /** The head that was read last, and its text. */
  #head: AnswerHead | null = null;
  #headText = '';
  /** Body bytes of the present `push`. */
  #out: Buffer = NOTHING;
  #outLength = 0;

  constructor(sink: ResponseSink) {
    this.#sink = sink;
  }

  /** A call has been sent: its answer comes next. */
  expect(): void {
    this.#place = 'head';
    this.#held = NOTHING;
    this.#extra = 0;
  }

  /**
   * Reads on.
   *
   * @param bytes may be overwritten after the call.
   * @throws {ResponseError}
   */
  push(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length) {
      if (this.#place === 'idle') throw new ResponseError('bytes that belong to no answer');
      at = this.#place === 'head' ? this.#readHead(bytes, at) : this.#readBody(bytes, at);
    }
    this.#deliver();
  }

  /**
   * The connection has ended.
   *
   * @returns whether that was a good end: of an answer whose body goes on until then, or between two answers.
   */
  end(): boolean {
    if (this.#place === 'until_close') this.#complete();
    return this.#place === 'idle';
  }

  #readHead(bytes: Buffer, from: number): number {
    const whole = this.#held.length === 0 ? bytes : Buffer.concat([this.#held, bytes.subarray(from)]);
    const start = this.#held.length === 0 ? from : 0;
    const end = whole.indexOf(HEAD_END, start);
    const length = (end === -1 ? whole.length - HEAD_END.length + 1 : end) - start;
    if (length > MAX_HEAD_BYTES) throw new ResponseError('a head of more than 64 KiB');
    if (end === -1) {
      checkBegin(whole, start);
      this.#held = whole === bytes ? Buffer.from(bytes.subarray(start)) : whole;
      return bytes.length;
    }
    const next = end + HEAD_END.length - (whole === bytes ? 0 : this.#held.length - from);
    this.#held = NOTHING;
    this.#takeHead(whole.toString('latin1', start, end));
    return next;
  }

  #takeHead(text: string): void {
    // An engine answers with the same head until its clock's next second: read once, it costs 3 us less.
    if (this.#head === null || text !== this.#headText) {
      this.#head = readHead(text);
      this.#headText = text;
    }
    const { status, headers, length } = this.#head;
    // An interim answer: the real one follows.
    if (status < 200) return;
    this.#reusable = this.#head.reusable;
    if (length === CHUNKED) {
      this.#beginSize();
    } else {
      this.#place = length === UNTIL_CLOSE ? 'until_close' : 'fixed';
      this.#left = length;
    }
    this.#sink.head(status, headers);
    if (length === 0) this.#complete();
  }

  #readBody(bytes: Buffer, at: number): number {
    switch (this.#place) {
      case 'fixed':
      case 'until_close': {
        const end = this.#copy(bytes, at);
        if (this.#left === 0) this.#complete();
        return end;
      }
      case 'chunk': {
        const end = this.#copy(bytes, at);
        if (this.#left === 0) this.#place = 'chunk_cr';
        return end;
      }
      case 'size':
        return this.#readSize(bytes, at);
      case 'size_lf':
        this.#want(bytes[at], LF);
        if (this.#left === 0) this.#beginTrailer();
        else this.#place = 'chunk';
        return at + 1;
      case 'chunk_cr':
        this.#want(bytes[at], CR);
        this.#place = 'chunk_lf';
        return at + 1;
      case 'chunk_lf':
        this.#want(bytes[at], LF);
        this.#beginSize();
        return at + 1;
      case 'idle':
      case 'head':
      case 'size_blank':
      case 'size_extension':
      case 'trailer':
      case 'trailer_lf':
        return this.#readExtra(bytes, at);
    }
  }

  /** What stands between chunks now and then, and behind them. Apart, so that the rest stays small and is inlined. */
  #readExtra(bytes: Buffer, at: number): number {
    if (this.#place === 'size_extension') return this.#skipLine(bytes, at, 'size_lf');
    if (this.#place === 'trailer') return this.#skipLine(bytes, at, 'trailer_lf');
    if (this.#place === 'size_blank') {
      this.#endSize(bytes[at]!);
      return at + 1;
    }
    this.#want(bytes[at], LF);
    if (this.#line === 0) this.#complete();
    else this.#place = 'trailer';
    this.#line = 0;
    return at + 1;
  }

  #beginSize(): void {
    this.#place = 'size';
    this.#left = 0;
    this.#digits = 0;
  }

  #readSize(bytes: Buffer, from: number): number {
    for (let at = from; at < bytes.length; at++) {
      const byte = bytes[at]!;
      const digit = hexDigit(byte);
      if (digit === -1) {
        if (this.#digits === 0) throw new ResponseError('a chunk without a size');
        if (byte === CR) this.#place = 'size_lf';
        else this.#endSize(byte);
        return at + 1;
      }
      this.#digits += 1;
      if (this.#digits > MAX_SIZE_DIGITS) throw new ResponseError('a chunk size that is too large');
      this.#left = this.#left * 16 + digit;
    }
    return bytes.length;
  }

  /** Behind a size comes the end of its line, as a rule; else blanks or extensions. */
  #endSize(byte: number): void {
    this.#extra = 0;
    if (byte === CR) this.#place = 'size_lf';
    else if (byte === SEMICOLON) this.#place = 'size_extension';
    else if (byte === SPACE || byte === TAB) this.#place = 'size_blank';
    else throw new ResponseError('a chunk size that is none');
  }

  #beginTrailer(): void {
    this.#place = 'trailer';
    this.#extra = 0;
    this.#line = 0;
  }

  /** Extensions and trailers are read over: nothing in them is for us. */
  #skipLine(bytes: Buffer, from: number, behind: Place): number {
    for (let at = from; at < bytes.length; at++) {
      const byte = bytes[at]!;
      if (byte === CR) {
        this.#place = behind;
        return at + 1;
      }
      if (byte === LF) throw new ResponseError('a bare line feed in a chunked body');
      this.#line += 1;
      this.#extra += 1;
      if (this.#extra > MAX_HEAD_BYTES)
        throw new ResponseError('chunk extensions or trailers of more than 64 KiB');
    }
    return bytes.length;
  }

  #want(byte: number | undefined, wanted: number): void {
    if (byte !== wanted)
      throw new ResponseError('a chunk, or a line of it, that does not end in CRLF where it should');
  }

  /** Copies body bytes; all of one `push` go on as one piece. */
  #copy(bytes: Buffer, from: number): number {
    const end = Math.min(bytes.length, from + this.#left);
    if (this.#out.length === 0) this.#out = Buffer.allocUnsafe(bytes.length - from);
    bytes.copy(this.#out, this.#outLength, from, end);
    this.#outLength += end - from;
    this.#left -= end - from;
    return end;
  }

  #deliver(): void {
    if (this.#outLength === 0) return;
    const bytes = this.#outLength === this.#out.length ? this.#out : this.#out.subarray(0, this.#outLength);
    this.#out = NOTHING;
    this.#outLength = 0;
    this.#sink.body(bytes);
  }

  #complete(): void {
    this.#deliver();
    this.#place = 'idle';
    this.#sink.complete(this.#reusable);
  }
}

/** Looks at the begin of a head: a server that speaks something else may never send an end of it. */
function checkBegin(bytes: Buffer, from: number): void {
  if (!HEAD_START.startsWith(bytes.toString('latin1', from, from + HEAD_START.length)))
    throw new ResponseError('no HTTP/1.1 status line');
  for (let at = bytes.indexOf(LF, from); at !== -1; at = bytes.indexOf(LF, at + 1)) {
    if (bytes[at - 1] !== CR) throw new ResponseError('a bare line feed in a head');
  }
}

function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}
