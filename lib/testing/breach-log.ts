import type { StubCall } from './stub-call';

/** Names of the checks, for the `lenient` option. */
export const BREACH_NAMES = [
  /** A header that does not belong to a call from a router. */
  'header',
  /** A query string on a call. */
  'query',
  'request-id-missing',
  'request-id-repeated',
  /** A call on a prefill engine that is not a one-token prefill leg asking for a handoff. */
  'prefill-shape',
  'decode-without-handoff',
  /** A handoff (or a request for one) at an engine of role `both`. */
  'handoff-at-both',
  /** A second decode leg with the same handoff, whether or not the first one was accepted. */
  'handoff-reused',
  /** A handoff whose text is not the one produced. */
  'handoff-changed',
  /** A handoff that no engine of this fleet produced. */
  'handoff-unknown',
  'handoff-expired',
  /** A field that shapes the prompt, or the path, differs between the two legs. */
  'prompt-differs',
  /** More than one sampled sequence together with a handoff. */
  'width',
  /** A list of prompts, `prompt_logprobs`, or `echo` with `logprobs`, in two legs. */
  'unsplittable',
] as const;

/** Name of one check. */
export type BreachName = (typeof BREACH_NAMES)[number];

/** Collects what the caller of the engines did wrong. */
export class BreachLog {
  readonly texts: string[] = [];
  readonly #lenient: ReadonlySet<string>;

  /** @throws TypeError for a name that is no check */
  constructor(lenient: readonly BreachName[]) {
    const unknown = lenient.filter((name) => !BREACH_NAMES.includes(name));
    if (unknown.length > 0) {
      throw new TypeError(`lenient: unknown ${unknown.join(', ')}; known: ${BREACH_NAMES.join(', ')}`);
    }
    this.#lenient = new Set(lenient);
  }

  /** Notes a breach, unless its check is switched off. */
  add(name: BreachName, call: StubCall, text: string): void {
    if (this.#lenient.has(name)) return;
    this.texts.push(`${name}: ${text} (engine ${call.engine}, request ${call.requestId || 'without id'})`);
  }

  /** Notes that a function given to the fleet threw; no option switches this off. */
  addFault(call: StubCall, error: unknown): void {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    this.texts.push(`fault: ${text} (engine ${call.engine}, request ${call.requestId || 'without id'})`);
  }

  clear(): void {
    this.texts.length = 0;
  }
}
