/** Journal rows as text. */
import type { JournalRow } from '../../lib/index';

let made = 0;

const META =
  '{"meta":{"schema":"narwhal.journal","schema_version":1,"package":"express-narwhal","version":"0.1.0"}}';

/** A row of a good request, with these fields put over it. */
export function row(fields: Partial<JournalRow> = {}): JournalRow {
  made++;
  return {
    run: 'run',
    rid: `rid-${made}`,
    client_rid: null,
    tenant: null,
    route: '/v1/completions',
    stream: false,
    at: '2026-05-01T08:00:00.000Z',
    arrived: 1,
    input_len: 10,
    output_len: 20,
    wanted_len: 20,
    ttft_s: 0.1,
    first_byte_s: 0.2,
    tpot_s: 0.01,
    queue_wait_s: 0,
    price_s: null,
    shadow: null,
    duration_s: 0.4,
    prefill_iid: 'p0',
    decode_iid: 'd0',
    crossed: true,
    terminal: 'completed',
    reason: null,
    cancelled_phase: null,
    status: 200,
    attempts: 1,
    decode_attempts: 1,
    attempt_failures: [],
    kv: 'claimed',
    parts: null,
    finish_reason: 'stop',
    error: null,
    ...fields,
  };
}

/** Fields of a request that an engine's fault ended. */
export const FAILED: Partial<JournalRow> = {
  terminal: 'failed',
  reason: 'engine_timeout',
  status: 504,
  attempts: 2,
  first_byte_s: null,
  tpot_s: null,
};

/** The text of a journal file: its first row, then these. */
export function journalText(rows: readonly JournalRow[]): string {
  return [META, ...rows.map((one) => JSON.stringify(one)), ''].join('\n');
}
