/** What is served: one request, or one prompt of a list. */
import type { ParsedBody } from '../request/parsed-body';
import type { Route } from '../request/schema';
import type { Answer } from './answer';
import type { Presence } from './presence';
import type { ServingRecord } from './record';

/** One request, or one prompt of a list. */
export interface Job {
  readonly rid: string;
  readonly route: Route;
  /** Path at the engine, e.g. `/v1/completions`. */
  readonly path: string;
  readonly body: ParsedBody;
  readonly trace: Readonly<Record<string, string>>;
  readonly presence: Presence;
  readonly answer: Answer;
  readonly record: ServingRecord;
  /** Monotonic ms at which the request ends. */
  readonly deadline: number;
  /** Estimated tokens of the prompt. */
  readonly tokens: number;
  /** One prompt of a list: its place, and its raw JSON text. */
  readonly part?: { readonly index: number; readonly prompt: Buffer };
  /** One leg on an engine of role `both`, because the prompt cannot be split. */
  readonly oneLeg?: boolean;
}
