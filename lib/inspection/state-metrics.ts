/** Series that are the router's state: read from `state()` when they are scraped. */
import type { Counter, Gauge } from 'prom-client';
import { packageVersion } from '../journal/journal';
import { collectedCounter, collectedGauge, plain, type Sample } from './collected';
import { samplesOf } from './request-metrics';
import type { EngineState, RouterState } from './state';

/** Engine states, each with a series of its own. */
const STATES: readonly EngineState['state'][] = ['live', 'ejected', 'drained'];

/** The series, for a registry. */
export function stateSeries(state: () => RouterState): (Counter | Gauge)[] {
  const each = (read: (engine: EngineState) => readonly Sample[]) => (): Sample[] =>
    state().engines.flatMap((engine) =>
      read(engine).map(({ labels, value }) => ({ labels: { iid: engine.iid, ...labels }, value })),
    );
  return [
    collectedGauge('narwhal_requests_in_flight', () => plain(state().in_flight)),
    collectedGauge('narwhal_seats_taken', () => plain(state().seats_taken)),
    collectedGauge('narwhal_queue_length', () => plain(state().queued)),
    collectedGauge('narwhal_retry_budget', () => plain(state().retry_budget)),
    collectedCounter('narwhal_retries_total', () => plain(state().retries)),
    collectedGauge('narwhal_draining', () => plain(state().status === 'draining' ? 1 : 0)),
    collectedCounter('narwhal_journal_rows_lost_total', () => plain(state().journal_rows_lost)),
    collectedGauge('narwhal_info', () => [{ labels: { version: packageVersion() }, value: 1 }]),
    collectedGauge(
      'narwhal_engine_state',
      each(({ role, state: now }) =>
        STATES.map((name) => ({ labels: { role, state: name }, value: now === name ? 1 : 0 })),
      ),
    ),
    collectedGauge(
      'narwhal_engine_legs_in_flight',
      each(({ prefills_in_flight: prefill, decodes_in_flight: decode }) =>
        samplesOf('leg', { prefill, decode }),
      ),
    ),
    collectedGauge(
      'narwhal_engine_prefill_tokens',
      each(({ prefill_tokens }) => plain(prefill_tokens)),
    ),
    collectedCounter(
      'narwhal_engine_ejections_total',
      each(({ ejections }) => plain(ejections)),
    ),
    collectedCounter(
      'narwhal_engine_failures_total',
      each(({ failures }) => samplesOf('class', failures)),
    ),
    collectedGauge(
      'narwhal_engine_handoffs_held',
      each(({ handoffs }) => plain(handoffs.held)),
    ),
    collectedCounter(
      'narwhal_handoffs_total',
      each(({ handoffs: { produced, claimed, reclaimed, leased } }) =>
        samplesOf('state', { produced, claimed, reclaimed, leased }),
      ),
    ),
  ];
}
