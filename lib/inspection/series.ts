/**
 * Every series of `GET /metrics`: the one table. `docs/observability.md`, the dashboard and the alert rules
 * are tested against it.
 *
 * No label has a value that a client can choose: all values are words of this package or names of the fleet
 * file, so the number of series is fixed when the router is built.
 */

/** What a series is, its labels, and its one sentence. */
export interface SeriesText {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly labels: readonly string[];
  readonly help: string;
}

function series(type: SeriesText['type'], help: string, ...labels: string[]): SeriesText {
  return Object.freeze({ type, labels, help });
}

export const SERIES = Object.freeze({
  narwhal_requests_total: series(
    'counter',
    'Requests to a completion route that are over, by how they ended',
    'route',
    'stream',
    'terminal',
    'reason',
  ),
  narwhal_request_duration_seconds: series('histogram', 'Arrival to the end of the response', 'terminal'),
  narwhal_queue_wait_seconds: series('histogram', 'Wait for a seat'),
  narwhal_prefill_seconds: series('histogram', 'Good prefill legs, from sending to the whole answer', 'iid'),
  narwhal_handoff_to_first_token_seconds: series(
    'histogram',
    'Prefill answer to the first output of the decode leg',
    'iid',
  ),
  narwhal_first_byte_seconds: series('histogram', 'Arrival to the first output, of completed requests'),
  narwhal_token_interval_seconds: series(
    'histogram',
    'Mean time between two output tokens, of completed requests',
  ),
  narwhal_router_overhead_seconds: series('histogram', 'Time in which a served request waited for nobody'),
  narwhal_tokens_total: series('counter', 'Tokens of requests that reached an engine', 'type'),
  narwhal_retries_total: series('counter', 'Attempts that followed a failed one'),
  narwhal_shadow_refusals_total: series(
    'counter',
    'Requests that serving.admission shadow let in and predictive would have refused',
    'reason',
  ),
  narwhal_slo_measured_total: series('counter', 'Requests that a target of the slo applies to', 'target'),
  narwhal_slo_met_total: series('counter', 'Requests that were within a target of the slo', 'target'),

  narwhal_requests_in_flight: series('gauge', 'Requests between arrival and their journal row'),
  narwhal_seats_taken: series('gauge', 'Seats that are taken'),
  narwhal_queue_length: series('gauge', 'Requests that wait for a seat'),
  narwhal_retry_budget: series('gauge', 'Retries that may still be made'),
  narwhal_draining: series('gauge', '1 while the router closes and takes no new work'),
  narwhal_journal_rows_lost_total: series('counter', 'Journal rows that could not be kept'),
  narwhal_info: series('gauge', 'Always 1; the version of the package', 'version'),

  narwhal_engine_state: series(
    'gauge',
    '1 for the state that an engine is in: live, ejected or drained',
    'iid',
    'role',
    'state',
  ),
  narwhal_engine_legs_in_flight: series('gauge', 'Legs that an engine works on', 'iid', 'leg'),
  narwhal_engine_prefill_tokens: series('gauge', 'Prompt tokens in, or waiting for, prefill', 'iid'),
  narwhal_engine_ejections_total: series('counter', 'Times that an engine was taken out of placement', 'iid'),
  narwhal_engine_failures_total: series(
    'counter',
    'Failed legs, and liveness probes without an answer, by class',
    'iid',
    'class',
  ),
  narwhal_engine_handoffs_held: series(
    'gauge',
    'Handoffs that an engine holds and no decode engine took',
    'iid',
  ),
  narwhal_handoffs_total: series(
    'counter',
    'Handoffs that an engine made, and what became of them',
    'iid',
    'state',
  ),
} satisfies Record<string, SeriesText>);

/** The name of a series. */
export type SeriesName = keyof typeof SERIES;
