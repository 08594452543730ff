/** How a KV cache is handed from a prefill engine to a decode engine. One file per connector. */

/** What a prefill answer said of its handoff. */
export type HandoffReading =
  | { readonly kind: 'handoff' /** The raw JSON text, exactly as received. */; readonly text: Buffer }
  | { readonly kind: 'missing'; readonly detail: string };

/** A kind of handoff. */
export interface Connector {
  readonly name: string;
  /** JSON text of `kv_transfer_params` on the prefill leg. */
  readonly question: string;
  /**
   * Finds the handoff in a prefill answer.
   *
   * @param answer the body as received; already known to be JSON.
   * @param value its parsed form.
   */
  take(answer: Buffer, value: Readonly<Record<string, unknown>>): HandoffReading;
  /**
   * How old a handoff may be when its decode leg is sent.
   *
   * @param leaseS seconds for which the producer keeps it.
   * @returns seconds.
   */
  maxAgeS(leaseS: number): number;
}
