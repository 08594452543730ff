/** A summary as tables, or as JSON. */
import { count, tableLines } from '../table';
import type { ReadResult } from './read';
import type { GroupSummary, OutcomeCount, Percentiles, SlowRequest } from './summary';

const GROUP_HEAD = [
  'rows',
  'completed',
  'first byte p50',
  'p90',
  'p99',
  'token interval p50',
  'p90',
  'p99',
] as const;

/** The summary as plain data. Times are seconds; percentiles are p50, p90, p99. */
export function reportJson({ summary, ...counts }: ReadResult): object {
  return {
    ...counts,
    rows: summary.rows,
    retried: summary.retried,
    from: summary.from,
    to: summary.to,
    outcomes: summary.outcomes(),
    all: named(summary.all()),
    tenants: summary.tenants().map(named),
    engines: summary.engines().map(named),
    slowest: summary.slowest(),
  };
}

/** Percentiles under their names. */
function named({ first_byte_s, token_interval_s, ...group }: GroupSummary): object {
  const byName = ([p50, p90, p99]: Percentiles) => ({ p50, p90, p99 });
  return { ...group, first_byte_s: byName(first_byte_s), token_interval_s: byName(token_interval_s) };
}

/** The summary as lines of text. */
export function reportLines(result: ReadResult): string[] {
  const { summary } = result;
  const lines = headLines(result);
  if (summary.rows === 0) return lines;
  const groups = [summary.all(), ...summary.tenants()];
  return [
    ...lines,
    '',
    ...tableLines(
      ['outcome', 'reason', 'rows', 'share', 'status', 'latest', 'its request id'],
      summary.outcomes().map((outcome) => outcomeCells(outcome, summary.rows)),
      [2, 3],
    ),
    '',
    ...tableLines(['tenant', ...GROUP_HEAD], groups.map(groupCells), rightFrom(1)),
    ...engineLines(summary.engines()),
    '',
    ...tableLines(
      [
        'slowest',
        'first byte',
        'queue',
        'tokens',
        'attempts',
        'outcome',
        'engines',
        'tenant',
        'at',
        'request id',
      ],
      summary.slowest().map(slowCells),
      [0, 1, 2, 3, 4],
    ),
  ];
}

/** Nothing where no request reached an engine. */
function engineLines(engines: readonly GroupSummary[]): string[] {
  const rows = engines.map((group) => [...groupCells(group), String(group.failed_attempts)]);
  if (rows.length === 0) return [];
  return ['', ...tableLines(['engine', ...GROUP_HEAD, 'failed attempts'], rows, rightFrom(1))];
}

function headLines({ summary, files, bad_lines, older_rows, unknown_versions }: ReadResult): string[] {
  const span = summary.from === null ? '' : `, from ${summary.from} to ${summary.to}`;
  return [
    `${count(summary.rows, 'row')} of ${count(files.length, 'file')}${span}`,
    ...(summary.retried > 0 ? [`${count(summary.retried, 'request')} needed more than one attempt`] : []),
    ...(older_rows > 0 ? [`${count(older_rows, 'older row')} left out`] : []),
    ...(bad_lines > 0 ? [`${count(bad_lines, 'line')} skipped: no row, or cut in two`] : []),
    ...unknown_versions.map(
      (version) => `there are rows of version ${version}, which this program does not know`,
    ),
  ];
}

function outcomeCells(outcome: OutcomeCount, rows: number): string[] {
  return [
    outcome.terminal,
    outcome.reason ?? '-',
    String(outcome.rows),
    `${((100 * outcome.rows) / rows).toFixed(1)}%`,
    outcome.statuses.join(' '),
    outcome.last_at,
    outcome.last_rid,
  ];
}

function groupCells({ name, rows, completed, first_byte_s, token_interval_s }: GroupSummary): string[] {
  return [name, String(rows), String(completed), ...[...first_byte_s, ...token_interval_s].map(time)];
}

function slowCells(row: SlowRequest): string[] {
  return [
    time(row.duration_s),
    time(row.first_byte_s),
    time(row.queue_wait_s),
    row.output_len === null ? '-' : String(row.output_len),
    String(row.attempts),
    row.reason === null ? row.terminal : `${row.terminal} ${row.reason}`,
    [row.prefill_iid, row.decode_iid].filter((iid) => iid != null).join(' -> ') || '-',
    row.tenant ?? '-',
    row.at,
    row.rid,
  ];
}

function rightFrom(first: number): number[] {
  return Array.from({ length: GROUP_HEAD.length + 1 }, (_, at) => first + at);
}

/** Seconds for a reader: `0.52ms`, `120ms`, `1.24s`. */
export function time(seconds: number | null | undefined): string {
  if (typeof seconds !== 'number') return '-';
  if (seconds < 0.1) return `${Number((seconds * 1000).toPrecision(2))}ms`;
  return seconds < 1 ? `${Math.round(seconds * 1000)}ms` : `${Number(seconds.toPrecision(3))}s`;
}
