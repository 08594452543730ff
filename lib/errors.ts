/** Error classes over the table of outcomes, and the envelope in which clients see them. */
import { type Leg, OUTCOMES, type OutcomeName, type OutcomeRow } from './outcomes';

/** The body of every error answer: OpenAI's envelope. */
export interface ErrorEnvelope {
  /** The one member. */
  readonly error: {
    /** Text for people; never repeats what the client sent. */
    readonly message: string;
    /** Kind of error: `invalid_request_error`, `server_overloaded_error`, and so on. */
    readonly type: string;
    /** The field of the request that is at fault; null where it is none. */
    readonly param: string | null;
    /** A word for programs; null where the type says enough. */
    readonly code: string | number | null;
  };
}

/** What may be said of an error beside its row and message. */
export interface ErrorDetails {
  /** The field of the request that is at fault. */
  readonly param?: string | null | undefined;
  /** Which leg failed; needed for the rows whose type is the leg. */
  readonly leg?: Leg | undefined;
  /** Seconds for `Retry-After`; clamped to whole seconds from 1 to 60. */
  readonly retryAfterS?: number | undefined;
  /** An engine's own refusal: its status, type and code, passed on. */
  readonly upstream?: {
    /** From 400 to 499, but none of 401, 403, 408 and 429. */
    readonly status: number;
    /** `type` of the engine's envelope. */
    readonly type: string;
    /** `code` of the engine's envelope. */
    readonly code: string | number | null;
  };
  /** Extra response headers, lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  /** For the journal and the log only, never for the client. */
  readonly detail?: string | undefined;
  /** What it came from. */
  readonly cause?: unknown;
}

/** Longest wait that the official SDKs obey (openai-node ignores a `Retry-After` above 60 s). */
const MAX_RETRY_AFTER_S = 60;

/**
 * An error that the library answers with. It carries `status` and `headers`, so that Express's own
 * final handler answers it with the right status when `narwhalErrorHandler` is not mounted.
 */
export class NarwhalError extends Error {
  /** Brand: `instanceof` fails across two copies of the package. */
  readonly isNarwhalError = true as const;
  override readonly name: string = 'NarwhalError';
  /** Its row in the table of outcomes (docs/errors.md). */
  readonly outcome: OutcomeName;
  /** HTTP status. */
  readonly status: number;
  /** Kind of error: `type` of the envelope. */
  readonly type: string;
  /** `code` of the envelope. */
  readonly code: string | number | null;
  /** The field of the request that is at fault: `param` of the envelope. */
  readonly param: string | null;
  /** The word in `x-narwhal-reason`, in the journal and in the metrics. */
  readonly reason: string;
  /** Headers of the answer, lower case: `retry-after`, `allow`, `www-authenticate`. */
  readonly headers: Readonly<Record<string, string>>;
  /** Express: the message may be shown to the client. */
  readonly expose = true;
  /** What the journal may know and the client may not. */
  readonly detail: string | null;

  /**
   * @param outcome the row of `OUTCOMES` that this error is.
   * @param message text for the client; must not repeat anything the client sent.
   * @throws {TypeError} where the details do not fit the row (a bug in the caller).
   */
  constructor(outcome: OutcomeName, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    const row: OutcomeRow = OUTCOMES[outcome];
    if (!Object.hasOwn(OUTCOMES, outcome)) throw new TypeError(`unregistered outcome: ${String(outcome)}`);
    this.outcome = outcome;
    this.status = statusOf(row, details);
    this.type = wordOf(row, row.type, details, details.upstream?.type);
    this.code = row.code === null ? null : wordOf(row, row.code, details, details.upstream?.code);
    this.param = details.param ?? null;
    this.reason = row.reason;
    this.headers = headersOf(row, details);
    this.detail = details.detail ?? null;
  }

  /** The envelope that the client sees. */
  toJSON(): ErrorEnvelope {
    return { error: { message: this.message, type: this.type, param: this.param, code: this.code } };
  }
}

function statusOf(row: OutcomeRow, details: ErrorDetails): number {
  if (row.status !== '4xx') return row.status;
  const status = details.upstream?.status ?? 0;
  const legal = Number.isInteger(status) && status >= 400 && status < 500;
  if (!legal || [401, 403, 408, 429].includes(status)) {
    throw new TypeError(`not an engine's refusal of the request: ${status}`);
  }
  return status;
}

function wordOf<T extends string | number | null>(
  row: OutcomeRow,
  word: string,
  details: ErrorDetails,
  upstream: T | undefined,
): string | T {
  if (word === '*') {
    if (upstream === undefined) throw new TypeError(`outcome ${row.reason} needs the engine's own words`);
    return upstream;
  }
  if (word !== 'leg') return word;
  if (details.leg === undefined) throw new TypeError(`outcome ${row.reason} needs a leg`);
  return details.leg;
}

function headersOf(row: OutcomeRow, details: ErrorDetails): Readonly<Record<string, string>> {
  const headers: Record<string, string> = { ...details.headers };
  if (row.retryAfter) headers['retry-after'] = String(clampRetryAfter(details.retryAfterS ?? 1));
  return Object.freeze(headers);
}

/** Whole seconds from 1 to 60, which every official SDK obeys. */
export function clampRetryAfter(seconds: number): number {
  if (!(seconds > 1)) return 1;
  return Math.min(Math.ceil(seconds), MAX_RETRY_AFTER_S);
}

/**
 * True for a library error, also one from another copy of the package.
 *
 * @example
 * ```ts
 * import express, { type ErrorRequestHandler } from 'express';
 * import { isNarwhalError, narwhalRouter } from 'express-narwhal';
 *
 * const answer: ErrorRequestHandler = (error, _req, res, next) => {
 *   if (isNarwhalError(error)) res.status(error.status).set(error.headers).json(error);
 *   else next(error);
 * };
 * express().use(narwhalRouter({ samplingGuard: { onError: 'next' } }), answer);
 * ```
 */
export function isNarwhalError(value: unknown): value is NarwhalError {
  return value instanceof Error && (value as Partial<NarwhalError>).isNarwhalError === true;
}

/**
 * A mistake in the set-up: a bad option, a bad fleet file, a middleware without what it needs.
 * Thrown by factories. Deliberately not a `NarwhalError`: no client can cause one.
 */
export class ConfigError extends TypeError {
  override readonly name = 'ConfigError';
  /** All problems found, one line each; empty where the message says it all. */
  declare readonly problems: readonly string[];

  /**
   * @param message what is wrong.
   * @param problems its parts, where there are several: they are put behind the message.
   */
  constructor(message: string, problems: readonly string[] = []) {
    super(problems.length === 0 ? message : `${message}\n${problems.map((p) => `  - ${p}`).join('\n')}`);
    // Not enumerable: the text lists them already, and a console would print them once more.
    Object.defineProperty(this, 'problems', { value: problems, enumerable: false });
  }
}

/** The client closed its connection; there is nobody to answer. */
export class ClientGoneError extends Error {
  override readonly name = 'ClientGoneError';

  constructor() {
    super('the client closed the connection');
  }
}
