/**
 * Bytes of an event stream in, events out: any framing, any cut.
 *
 * Line and field rules: WHATWG HTML, section 9.2.6 "Interpreting an event stream". Only `data`
 * matters on an OpenAI-style stream; everything else between events is skipped.
 */

/** Receives the events of a stream, in order. */
export interface SseSink {
  /**
   * @param data the event's data: its data lines joined by one LF.
   * @param frame the bytes `data: <data>\n\n` as they stand in the chunk, where the event has exactly
   *   that form and lies wholly in one chunk; else null. It is a part of the chunk, not a copy, so
   *   frames that touch each other may be forwarded as one slice. They do not touch where a comment
   *   or another field stands between them.
   */
  event(data: Buffer, frame: Buffer | null): void;
  /**
   * A short way for receivers that know what comes next: takes whole events of the form
   * `data: <data>\n\n` from the chunk by itself.
   *
   * @param at where an event begins.
   * @returns where the first byte stands that it did not take.
   */
  takeRun?(chunk: Buffer, at: number): number;
}

/** One event is larger than the reader may hold. */
export class SseLimitError extends Error {
  override readonly name = 'SseLimitError';

  constructor(maxEventBytes: number) {
    super(`an event of the stream is larger than ${maxEventBytes} bytes`);
  }
}

const LF = 10;
const CR = 13;
const SPACE = 32;
const COLON = 58;
const NAME = Buffer.from('data');
const PLAIN_START = Buffer.from('data: ');
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);
const LINE_FEED = Buffer.from('\n');
const NOTHING = Buffer.alloc(0);

/** Where the next byte stands. */
type Place = 'mark' | 'line' | 'name' | 'colon' | 'value' | 'skip';

/** Splits a byte stream into events. One reader for one stream. */
export class SseReader {
  private place: Place = 'mark';
  /** How many bytes of the byte order mark, or of the field name, were seen. */
  private matched = 0;
  /** The last byte was a CR that ended a line: an LF that follows belongs to it. */
  private afterCr = false;
  private hasData = false;
  /** Data of the event that is not whole yet, in a buffer that doubles: linear for any cut. */
  private held: Buffer = NOTHING;
  private heldLength = 0;
  private stopped = false;
  /** The next LF and CR of the current chunk, remembered so that no byte is searched twice. */
  private nextLf = -1;
  private nextCr = -1;

  /** @param options `maxEventBytes`: the most data bytes that one event may have. */
  constructor(
    private readonly sink: SseSink,
    private readonly options: { readonly maxEventBytes: number },
  ) {}

  /**
   * Reads on. Events that end in this chunk are delivered before the call returns. The chunk must not
   * be changed afterwards: what is delivered may be a part of it.
   *
   * @throws {SseLimitError} when one event exceeds the limit. After a throw, the sink's own included,
   *   the reader is stopped.
   */
  push(chunk: Buffer): void {
    this.nextLf = -1;
    this.nextCr = -1;
    let at = 0;
    try {
      while (at < chunk.length && !this.stopped) at = this.step(chunk, at);
    } catch (error) {
      this.stopped = true;
      throw error;
    }
  }

  /**
   * The stream is over.
   *
   * @returns the data of an event that lacks its blank line, if it has a data line (whole or not);
   *   else null. Whether to trust it is the caller's choice: the standard discards it.
   */
  end(): Buffer | null {
    if (this.stopped) return null;
    if (this.place === 'name' && this.matched === NAME.length) this.beginValue();
    this.stopped = true;
    return this.hasData ? this.held.subarray(0, this.heldLength) : null;
  }

  /** After this nothing more is delivered, also not from the chunk that is being read. */
  stop(): void {
    this.stopped = true;
    this.held = NOTHING;
  }

  /** Consumes a run of bytes from `at`; returns where the next one begins. */
  private step(chunk: Buffer, at: number): number {
    if (this.afterCr) {
      this.afterCr = false;
      if (chunk[at] === LF) return at + 1;
    }
    switch (this.place) {
      case 'mark':
        return this.stepMark(chunk, at);
      case 'line':
        return this.stepLine(chunk, at);
      case 'name':
        return this.stepName(chunk, at);
      case 'colon':
        this.place = 'value';
        return chunk[at] === SPACE ? at + 1 : at;
      case 'value': {
        const end = this.lineEnd(chunk, at);
        this.hold(chunk, at, end);
        return this.endLine(chunk, end);
      }
      case 'skip':
        return this.endLine(chunk, this.lineEnd(chunk, at));
    }
  }

  private stepMark(chunk: Buffer, at: number): number {
    if (chunk[at] === BYTE_ORDER_MARK[this.matched]) {
      this.matched += 1;
      if (this.matched === BYTE_ORDER_MARK.length) this.place = 'line';
      return at + 1;
    }
    // A mark that breaks off is the name of an unknown field.
    this.place = this.matched === 0 ? 'line' : 'skip';
    return at;
  }

  private stepLine(chunk: Buffer, at: number): number {
    if (!this.hasData) {
      const taken = this.sink.takeRun?.(chunk, at) ?? at;
      if (taken > at) return taken;
      const end = this.plainEnd(chunk, at);
      if (end !== -1) {
        const from = at + PLAIN_START.length;
        if (end - 2 - from > this.options.maxEventBytes) throw new SseLimitError(this.options.maxEventBytes);
        this.sink.event(chunk.subarray(from, end - 2), chunk.subarray(at, end));
        return end;
      }
    }
    const byte = chunk[at];
    if (byte === LF || byte === CR) {
      const next = this.endLine(chunk, at);
      this.deliverHeld();
      return next;
    }
    this.matched = 1;
    this.place = byte === NAME[0] ? 'name' : 'skip';
    return at + 1;
  }

  /** The end of an event `data: <one line>\n\n` that begins at `at`, or -1. Copies nothing. */
  private plainEnd(chunk: Buffer, at: number): number {
    for (let i = 0; i < PLAIN_START.length; i++) {
      if (chunk[at + i] !== PLAIN_START[i]) return -1;
    }
    const end = this.lineEnd(chunk, at + PLAIN_START.length);
    return chunk[end] === LF && chunk[end + 1] === LF ? end + 2 : -1;
  }

  private stepName(chunk: Buffer, at: number): number {
    const byte = chunk[at];
    if (this.matched < NAME.length) {
      if (byte !== NAME[this.matched]) this.place = 'skip';
      else this.matched += 1;
      return this.place === 'skip' ? at : at + 1;
    }
    if (byte === COLON) {
      this.beginValue();
      this.place = 'colon';
      return at + 1;
    }
    // A line `data` without a colon is an empty data line; `database` is an unknown field.
    if (byte === LF || byte === CR) this.beginValue();
    this.place = 'skip';
    return at;
  }

  private beginValue(): void {
    if (this.hasData) this.hold(LINE_FEED, 0, 1);
    this.hasData = true;
  }

  private endLine(chunk: Buffer, end: number): number {
    if (end === chunk.length) return end;
    this.afterCr = chunk[end] === CR;
    this.place = 'line';
    return end + 1;
  }

  private deliverHeld(): void {
    if (!this.hasData) return;
    const data = this.held.subarray(0, this.heldLength);
    // The receiver owns these bytes now; the next event gets a buffer of its own.
    this.held = NOTHING;
    this.heldLength = 0;
    this.hasData = false;
    this.sink.event(data, null);
  }

  private hold(chunk: Buffer, from: number, to: number): void {
    const length = this.heldLength + to - from;
    if (length > this.options.maxEventBytes) throw new SseLimitError(this.options.maxEventBytes);
    if (length > this.held.length) {
      const larger = Buffer.allocUnsafe(Math.max(256, 2 * length));
      this.held.copy(larger, 0, 0, this.heldLength);
      this.held = larger;
    }
    chunk.copy(this.held, this.heldLength, from, to);
    this.heldLength = length;
  }

  /** Where the line that contains `at` ends in this chunk; the chunk's length if it goes on. */
  private lineEnd(chunk: Buffer, at: number): number {
    if (this.nextLf < at) this.nextLf = indexOr(chunk, LF, at);
    if (this.nextCr < at) this.nextCr = indexOr(chunk, CR, at);
    return Math.min(this.nextLf, this.nextCr);
  }
}

function indexOr(chunk: Buffer, byte: number, at: number): number {
  const index = chunk.indexOf(byte, at);
  return index === -1 ? chunk.length : index;
}
