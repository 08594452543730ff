/**
 * How a request may end: the one frozen table.
 *
 * Every refusal and every fault that the library answers with is a row here, found by its name. A
 * status, error type, code, journal terminal and reason are only ever used together as a row says;
 * `docs/errors.md` is tested against this table.
 */

/** The seven ways in which a request can end (journal field `terminal`). */
export type Terminal = 'completed' | 'failed' | 'refused' | 'rejected' | 'expired' | 'invalid' | 'cancelled';

/** The two legs of a request, as they appear in error types and codes. */
export type Leg = 'prefill' | 'decode';

/** One legal way to end. `leg` in `type` or `code` stands for the word `prefill` or `decode`. */
export interface OutcomeRow {
  readonly terminal: Terminal;
  /** The word in `x-narwhal-reason`, in the journal and in the metric label. */
  readonly reason: string;
  /** HTTP status; `4xx` is an engine's own refusal, passed on with its status. */
  readonly status: number | '4xx';
  readonly type: string;
  readonly code: string | null;
  /** Whether the answer carries `Retry-After`. */
  readonly retryAfter: boolean;
}

function row(
  terminal: Terminal,
  reason: string,
  status: number | '4xx',
  type: string,
  code: string | null = null,
  retryAfter = false,
): OutcomeRow {
  return Object.freeze({ terminal, reason, status, type, code, retryAfter });
}

const BAD = 'invalid_request_error';
const BUSY = 'server_overloaded_error';

/** Every outcome but the good one and the client's leaving, by name. */
export const OUTCOMES = Object.freeze({
  badJson: row('invalid', 'json', 400, BAD),
  badBodyShape: row('invalid', 'body_shape', 400, BAD),
  badEncoding: row('invalid', 'encoding', 400, BAD),
  unknownEncoding: row('invalid', 'encoding', 415, BAD),
  bodyTooLarge: row('invalid', 'too_large', 413, 'request_too_large'),
  badFieldType: row('invalid', 'field_type', 400, BAD),
  reservedField: row('invalid', 'reserved_field', 400, BAD),
  badOutputOption: row('invalid', 'output_option', 400, BAD),
  unknownModel: row('invalid', 'model', 404, BAD, 'model_not_found'),
  badSamplingWidth: row('invalid', 'sampling_width', 400, BAD),
  missingField: row('invalid', 'required_field', 400, BAD),
  wrongMethod: row('invalid', 'method', 405, BAD, 'method_not_allowed'),
  engineRefused: row('invalid', 'engine_refused', '4xx', '*', '*'),

  unauthenticated: row('rejected', 'unauthenticated', 401, 'authentication_error', 'invalid_api_key'),
  inflightLimit: row('rejected', 'inflight_limit', 429, BUSY, null, true),
  saturated: row('rejected', 'saturated', 429, BUSY, null, true),
  tenantLimit: row('rejected', 'tenant_limit', 429, BUSY, null, true),
  noEngine: row('rejected', 'no_engine', 503, 'no_schedulable_engines', 'no_schedulable_engines', true),
  shuttingDown: row('rejected', 'shutting_down', 503, 'shutting_down', 'shutting_down', true),

  promptOverBudget: row('refused', 'prompt', 429, BUSY),
  queueOverBudget: row('refused', 'queue', 429, BUSY, null, true),

  requestExpired: row('expired', 'deadline', 504, 'request_expired', 'request_expired'),
  queueExpired: row('expired', 'queue_timeout', 504, 'queue_expired', 'queue_expired'),
  handoffExpired: row('expired', 'handoff', 504, 'handoff_expired', 'handoff_expired'),

  engineUnreachable: row('failed', 'engine_unreachable', 502, 'leg', 'leg'),
  engineConnection: row('failed', 'engine_connection', 502, 'leg', 'leg'),
  engineTimeout: row('failed', 'engine_timeout', 504, 'leg', 'leg'),
  engineOverloaded: row('failed', 'engine_overloaded', 502, 'leg', 'leg'),
  engineError: row('failed', 'engine_error', 502, 'leg', 'leg'),
  engineAuth: row('failed', 'engine_auth', 502, 'leg', 'leg'),
  badHandoff: row('failed', 'kv_handoff', 502, 'leg', 'leg'),
  badAnswer: row('failed', 'invalid_response', 502, 'leg', 'leg'),
  answerTooLarge: row('failed', 'response_limit', 502, 'leg', 'leg'),
  localPool: row('failed', 'local_pool', 504, 'leg', 'leg'),
  noEngineLeft: row('failed', 'no_engine', 502, 'leg', 'leg'),
  noEngineLeftInTime: row('failed', 'no_engine', 504, 'leg', 'leg'),
  internal: row('failed', 'internal', 500, 'internal_error'),
});

/** The name of a row of `OUTCOMES`. */
export type OutcomeName = keyof typeof OUTCOMES;

/** Every reason word, with the terminal that it belongs to. `no_engine` stands in two. */
export const REASONS: ReadonlyMap<string, readonly Terminal[]> = collectReasons();

function collectReasons(): Map<string, readonly Terminal[]> {
  const reasons = new Map<string, readonly Terminal[]>([['client_closed', ['cancelled']]]);
  for (const { reason, terminal } of Object.values(OUTCOMES)) {
    const known = reasons.get(reason) ?? [];
    if (!known.includes(terminal)) reasons.set(reason, [...known, terminal]);
  }
  return reasons;
}

/** Codes of the one error frame that ends a stream which had already shown output. */
export type FrameCode = 'failed' | 'expired';

/**
 * The code of the error frame for an outcome that came after the first output.
 *
 * @returns `expired` for everything that a deadline of the router ended, else `failed`.
 */
export function frameCode(name: OutcomeName): FrameCode {
  const { status } = OUTCOMES[name];
  return status === 504 ? 'expired' : 'failed';
}
