/** What went wrong with an engine: one class, classified by the table of outcomes. */
import { NarwhalError } from '../errors';
import type { Leg, OutcomeName } from '../outcomes';

/** An engine's own refusal of the request: what the client may see of it. */
export interface EngineRefusal {
  readonly status: number;
  readonly type: string;
  readonly code: string | number | null;
  readonly param: string | null;
  readonly message: string;
}

/** What is known of a fault beside its outcome. */
export interface FaultDetails {
  readonly iid: string;
  readonly leg: Leg;
  /** For the journal and the log: may name the engine, never a key. */
  readonly detail: string;
  /** For the client; a sentence that names no engine. Default: the outcome's own. */
  readonly message?: string | undefined;
  /** The status the engine answered with, where it answered. */
  readonly status?: number | undefined;
  /** The engine's own `Retry-After`, in seconds. */
  readonly retryAfterS?: number | undefined;
  readonly refusal?: EngineRefusal | undefined;
  /** The fault says nothing about the engine: the request may have caused it. */
  readonly isBlameless?: boolean | undefined;
}

const MESSAGES: Partial<Record<OutcomeName, string>> = {
  engineUnreachable: 'engine could not be reached',
  engineConnection: 'engine closed the connection before its answer was complete',
  engineTimeout: 'engine did not answer in time',
  engineOverloaded: 'engine has no room for the request now',
  engineError: 'engine failed',
  engineAuth: 'engine did not accept the credential of this gateway',
  badHandoff: 'engine did not hand over its KV cache',
  badAnswer: 'engine sent an answer that could not be understood',
  answerTooLarge: 'engine sent an answer larger than max_response_bytes',
  localPool: 'engine had no free connection within pool_timeout_s',
};

/** A failed leg. Thrown within serving; what the client sees of it is `toClient()`. */
export class EngineFault extends Error {
  override readonly name = 'EngineFault';
  readonly outcome: OutcomeName;
  readonly iid: string;
  readonly leg: Leg;
  readonly status: number | null;
  readonly retryAfterS: number | null;
  readonly refusal: EngineRefusal | null;
  readonly isBlameless: boolean;
  readonly #message: string | undefined;

  constructor(outcome: OutcomeName, details: FaultDetails) {
    super(details.detail);
    this.outcome = outcome;
    this.iid = details.iid;
    this.leg = details.leg;
    this.status = details.status ?? null;
    this.retryAfterS = details.retryAfterS ?? null;
    this.refusal = details.refusal ?? null;
    this.isBlameless = details.isBlameless ?? false;
    this.#message = details.message;
  }

  /** The error that the client gets: true status and type, no address, key or internals. */
  toClient(): NarwhalError {
    if (this.refusal !== null) {
      const { message, status, type, code, param } = this.refusal;
      return new NarwhalError('engineRefused', message, {
        param,
        upstream: { status, type, code },
        detail: this.message,
      });
    }
    const text = this.#message ?? MESSAGES[this.outcome] ?? 'engine failed';
    return new NarwhalError(this.outcome, `the ${this.leg} ${text}`, {
      leg: this.leg,
      detail: this.message,
    });
  }
}
