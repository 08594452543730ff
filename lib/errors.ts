/** Error classes over the table of outcomes, and the envelope in which clients see them. */
import { type Leg, OUTCOMES, type OutcomeName, type OutcomeRow } from './outcomes';

/** The body of every error answer: OpenAI's envelope. */
export interface ErrorEnvelope {
  readonly error: {
    readonly message: string;
    readonly type: string;
    readonly param: string | null;
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
    readonly status: number;
    readonly type: string;
    readonly code: string | number | null;
  };
  /** Extra response headers, lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  /** For the journal and the log only, never for the client. */
  readonly detail?: string | undefined;
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
  readonly outcome: OutcomeName;
  readonly status: number;
  readonly type: string;
  readonly code: string | number | null;
  readonly param: string | null;
  readonly reason: string;
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

/** True for a library error, also one from another copy of the package. */
export function isNarwhalError(value: unknown): value is NarwhalError {
  return value instanceof Error && (value as Partial<NarwhalError>).isNarwhalError === true;
}

/**
 * A mistake in the set-up: a bad option, a bad fleet file, a middleware without what it needs.
 * Thrown by factories. Deliberately not a `NarwhalError`: no client can cause one.
 */
export class ConfigError extends TypeError {
  override readonly name = 'ConfigError';
  /** All problems found, one line each. */
  readonly problems: readonly string[];

  constructor(message: string, problems: readonly string[] = []) {
    super(problems.length === 0 ? message : `${message}\n${problems.map((p) => `  - ${p}`).join('\n')}`);
    this.problems = problems;
  }
}

/** The client closed its connection; there is nobody to answer. */
export class ClientGoneError extends Error {
  override readonly name = 'ClientGoneError';

  constructor() {
    super('the client closed the connection');
  }
}
