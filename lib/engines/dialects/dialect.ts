/** What a kind of engine wants on each leg and how it says no. One file per kind implements it. */
import type { EngineRefusal } from '../fault';

/** What happens to a field of the client's body on a leg. */
export type FieldAction =
  | { readonly kind: 'keep' }
  | { readonly kind: 'drop' }
  /** The member gets this JSON text, present or not. */
  | { readonly kind: 'set'; readonly text: string }
  /** The configured model's name. */
  | { readonly kind: 'model' }
  /** Whatever the connector says: its question on the prefill leg, the handoff on the decode leg. */
  | { readonly kind: 'handoff' }
  /** The client's object with `include_usage` on. */
  | { readonly kind: 'ask-usage' }
  /** A forced tool choice becomes `"auto"`; anything else stays. */
  | { readonly kind: 'loosen' };

/** One row of a dialect's field table. A field without a row is kept on both legs. */
export interface FieldRule {
  readonly field: string;
  readonly prefill: FieldAction;
  readonly decode: FieldAction;
  readonly why: string;
}

/** How an engine's error answer is to be taken. */
export type ErrorReading =
  | { readonly kind: 'refusal'; readonly refusal: EngineRefusal }
  | { readonly kind: 'auth' | 'timeout' | 'overloaded' | 'error'; readonly text: string };

/** A kind of engine. */
export interface Dialect {
  readonly name: string;
  readonly fields: readonly FieldRule[];
  /**
   * Reads an error answer, or an error frame of a stream.
   *
   * @param status the HTTP status; for a frame inside a 200, the status that the frame names or 500.
   * @param body the text of the body or of the frame.
   */
  readError(status: number, body: string): ErrorReading;
  /** The status that an error frame of a stream stands for: its own number, else 500. */
  frameStatus(frame: unknown): number;
}
