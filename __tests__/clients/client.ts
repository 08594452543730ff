/** What the clients that people use have in common, so that one test can ask all of them. */
import { MODEL } from '../integration/sdk';

/** One question. */
export interface Question {
  readonly url: string;
  readonly prompt: string;
  /** Offer the tool of the tests. @default false */
  readonly tools?: boolean;
  /** @default 'client-key-1' */
  readonly apiKey?: string;
  /** @default the model of the fleet */
  readonly model?: string;
  /** @default 0 */
  readonly maxRetries?: number;
  /** Of the answer. */
  readonly maxTokens?: number;
  readonly signal?: AbortSignal;
  /** Told of each piece of text that a stream brings. */
  readonly onText?: (text: string) => void;
}

/** What the client made of the answer. */
export interface Seen {
  readonly text: string;
  readonly toolCalls: readonly { readonly id: string; readonly name: string; readonly input: unknown }[];
  readonly finish: string | undefined;
  readonly usage: { readonly input: number | undefined; readonly output: number | undefined };
  /** What it failed with, or null. */
  readonly fault: Fault | null;
}

/** What a program sees of an error. */
export interface Fault {
  readonly error: unknown;
  readonly status: number | undefined;
  readonly message: string;
  readonly type: unknown;
  readonly code: unknown;
}

/** One client library. */
export interface Client {
  readonly name: string;
  ask(question: Question): Promise<Seen>;
  stream(question: Question): Promise<Seen>;
}

export const KEY = 'client-key-1';

/** The tool that questions may offer. */
export const TOOL = {
  name: 'weather',
  description: 'Tells the weather of a place.',
  schema: {
    type: 'object' as const,
    properties: { note: { type: 'string' as const } },
    required: ['note'],
    additionalProperties: false,
  },
};

/** The members of a question, with what was left out. */
export function filled(question: Question) {
  return { tools: false, apiKey: KEY, model: MODEL, maxRetries: 0, ...question };
}

/** A client that got no further than its error. */
export function failed(fault: Fault, text = ''): Seen {
  return { text, toolCalls: [], finish: undefined, usage: { input: undefined, output: undefined }, fault };
}
