/** A body that passed the checks of its text. */
import { joined, lengthOf, textBetween } from '../json/chunks';
import type { Member, Span } from '../json/members';

/** Members of a body, or of an object in it, as `JSON.parse` makes them. */
export type BodyValue = Readonly<Record<string, unknown>>;

/** What is known of a body's text. */
export interface BodyParts {
  /** The client's own text without a byte order mark, as it came. */
  readonly chunks: readonly Buffer[];
  readonly outline: BodyValue;
  /** The whole value, where the host has made it. */
  readonly value: BodyValue | null;
  readonly members: readonly Member[];
}

/** The client's own text, what it says, and where. */
export class ParsedBody {
  /** The text, in order. */
  readonly chunks: readonly Buffer[];
  /** Bytes of the text. */
  readonly length: number;
  /**
   * The value for our own checks, which no host ever holds: what is checked stays what is sent. In a long body
   * strings that nobody here reads, such as prompts, may be cut to a few characters; everything else is as in `value`.
   */
  readonly outline: BodyValue;
  /** Where each top-level member stands in the text; no name occurs twice. */
  readonly members: readonly Member[];
  #bytes: Buffer | null;
  #value: BodyValue | null;

  constructor({ chunks, outline, value, members }: BodyParts) {
    this.chunks = chunks;
    this.length = lengthOf(chunks);
    this.outline = outline;
    this.members = members;
    this.#bytes = chunks.length === 1 ? chunks[0]! : null;
    this.#value = value;
  }

  /** The text in one piece. Of a long body it is joined at the first use. */
  get bytes(): Buffer {
    this.#bytes ??= joined(this.chunks);
    return this.#bytes;
  }

  /**
   * The whole value, for hosts to look at: what goes on is cut from the text, which this value cannot always
   * restore. It is parsed at the first use, which of a long body costs more than all else that is done with it.
   */
  get value(): BodyValue {
    this.#value ??= JSON.parse(this.bytes.toString('utf8')) as BodyValue;
    return this.#value;
  }

  /** Whether `value` is there without work. */
  get hasValue(): boolean {
    return this.#value !== null;
  }

  /** A piece of the text; a copy only where it stands in several chunks. */
  textOf({ start, end }: Span): Buffer {
    return textBetween(this.chunks, start, end);
  }
}
