/** The shape of a journal row, and how it is made of a request's context. */
import type { RequestContext } from '../context';
import type { Terminal } from '../outcomes';
import type { AttemptFailure, HandoffEnd, Phase } from '../serving/record';

/**
 * The terminal row of one request. A field that does not apply is null, never missing. Fields that end
 * in `_s` are seconds. No prompt and no output text, no credential.
 */
export interface JournalRow {
  /** The opening of the journal that wrote the row. */
  readonly run: string;
  /** The router's id of the request: `x-request-id` of the response. */
  readonly rid: string;
  /** The `x-request-id` that came with the request. */
  readonly client_rid: string | null;
  /** Whose request it was. */
  readonly tenant: string | null;
  /** Path as the client wrote it, without the query string. */
  readonly route: string;
  /** The client asked for a stream; null where no body was read. */
  readonly stream: boolean | null;
  /** Arrival, ISO 8601. */
  readonly at: string;
  /** Arrival on the process's monotonic clock. */
  readonly arrived: number;
  /** Tokens of the prompt: counted by the engine, else estimated. */
  readonly input_len: number | null;
  /** Tokens of the answer: counted by the engine, else events with output. */
  readonly output_len: number | null;
  /** Most tokens that the client asked for. */
  readonly wanted_len: number | null;
  /** Arrival to the prefill answer. */
  readonly ttft_s: number | null;
  /** Arrival to the first output. */
  readonly first_byte_s: number | null;
  /** Between two output tokens, on average. */
  readonly tpot_s: number | null;
  /** Wait for a seat. */
  readonly queue_wait_s: number | null;
  /** Projected time to the first output, from the end of the upload; null where nothing was projected. */
  readonly price_s: number | null;
  /** Why `serving.admission: shadow` would have refused the request. */
  readonly shadow: 'prompt' | 'queue' | null;
  /** Arrival to the end of the response and of all work for it. */
  readonly duration_s: number;
  /** Engine of the last prefill leg. */
  readonly prefill_iid: string | null;
  /** Engine of the last decode leg, or of the only leg. */
  readonly decode_iid: string | null;
  /** The legs ran on two engines. */
  readonly crossed: boolean | null;
  /** How it ended. */
  readonly terminal: Terminal;
  /** Why it ended so; null for a good end. */
  readonly reason: string | null;
  /** Where it stood when the client left. */
  readonly cancelled_phase: Phase | null;
  /** The status that was sent; 499 for a client that left. */
  readonly status: number;
  /** Attempts; 0 where none was begun. */
  readonly attempts: number;
  /** Attempts that reached the decode leg. */
  readonly decode_attempts: number;
  /** What went wrong in attempts that failed; at most `serving.max_attempts`. */
  readonly attempt_failures: readonly AttemptFailure[];
  /** The worst end that a handoff of the request had. */
  readonly kv: HandoffEnd | null;
  /** Requests that a list of prompts became; null where it was one prompt. */
  readonly parts: number | null;
  /** What the engine said: `stop`, `length`, `tool_calls`. */
  readonly finish_reason: string | null;
  /** The message, with what the client may not know; null for a good end. */
  readonly error: string | null;
}

/**
 * Builds the row of a request that is over.
 *
 * @param run the journal's own id.
 * @param endedAt monotonic ms.
 */
export function buildRow(context: RequestContext, run: string, endedAt: number): JournalRow {
  const { record, arrivedAt, outcome, body } = context;
  const stream = body?.outline['stream'];
  const since = (at: number | null): number | null => (at === null ? null : seconds(at - arrivedAt));
  const terminal = outcome?.terminal ?? 'failed';
  const outputLen = record.outputLen ?? (record.deltas > 0 ? record.deltas : null);
  return {
    run,
    rid: context.requestId,
    client_rid: context.clientRequestId,
    tenant: context.identity?.tenant ?? null,
    route: context.route,
    stream: body === null ? null : stream === true,
    at: isoTime(context.at),
    arrived: seconds(arrivedAt),
    input_len: record.inputLen,
    output_len: outputLen,
    wanted_len: record.wantedLen,
    ttft_s: since(record.prefillAnsweredAt),
    first_byte_s: since(record.firstOutputAt),
    tpot_s: tokenInterval(record.firstOutputAt, record.lastOutputAt, outputLen),
    queue_wait_s: record.queueWaitMs === null ? null : seconds(record.queueWaitMs),
    price_s: record.priceMs === null ? null : seconds(record.priceMs),
    shadow: record.shadow,
    duration_s: seconds(endedAt - arrivedAt),
    prefill_iid: record.prefillIid,
    decode_iid: record.decodeIid,
    crossed:
      record.decodeIid === null ? null : record.prefillIid !== null && record.prefillIid !== record.decodeIid,
    terminal,
    reason: outcome?.reason ?? null,
    cancelled_phase: terminal === 'cancelled' ? record.phase : null,
    status: outcome?.status ?? 500,
    attempts: record.attempts,
    decode_attempts: record.decodeAttempts,
    attempt_failures: record.failures,
    kv: record.kv,
    parts: record.parts,
    finish_reason: record.finishReason,
    error: outcome?.error ?? null,
  };
}

/** The second of the last row, and its time up to the dot. */
let lastSecond = Number.NaN;
let lastText = '';

/** As `toISOString` of a date: 1 us of a row, of which only the milliseconds differ from the row before. */
function isoTime(ms: number): string {
  const second = Math.floor(ms / 1000);
  if (second !== lastSecond) {
    lastText = new Date(second * 1000).toISOString().slice(0, -'000Z'.length);
    lastSecond = second;
  }
  return `${lastText}${String(ms - second * 1000).padStart(3, '0')}Z`;
}

/** Microseconds are enough, and keep rows short. */
function seconds(ms: number): number {
  return Math.round(ms * 1000) / 1e6;
}

function tokenInterval(first: number | null, last: number | null, tokens: number | null): number | null {
  if (first === null || last === null || tokens === null || tokens < 2) return null;
  return seconds((last - first) / (tokens - 1));
}
