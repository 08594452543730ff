/** What the rows of a journal come to. Memory is bounded: by names, not by rows. */
import type { JournalRow } from '../../index';
import { Digest } from './digest';

/** Percentiles that are shown. */
export const SHARES = [0.5, 0.9, 0.99] as const;

/** More tenants or engines than this are counted together. */
const MAX_GROUPS = 1000;
/** Name of the group of those that are too many. */
const REST = '(others)';

/** p50, p90, p99 in seconds; null where there is nothing to count. */
export type Percentiles = readonly (number | null)[];

/** Rows that ended alike. */
export interface OutcomeCount {
  readonly terminal: string;
  readonly reason: string | null;
  readonly rows: number;
  readonly statuses: readonly number[];
  /** The latest of them. */
  readonly last_at: string;
  readonly last_rid: string;
}

/** One tenant, or one engine on one leg. */
export interface GroupSummary {
  readonly name: string;
  readonly rows: number;
  readonly completed: number;
  /** Attempts that failed on this engine, where the group is one. */
  readonly failed_attempts: number;
  readonly first_byte_s: Percentiles;
  readonly token_interval_s: Percentiles;
}

/** The fields of a slow request that are shown. */
export type SlowRequest = Pick<
  JournalRow,
  | 'rid'
  | 'at'
  | 'tenant'
  | 'terminal'
  | 'reason'
  | 'status'
  | 'queue_wait_s'
  | 'first_byte_s'
  | 'duration_s'
  | 'output_len'
  | 'attempts'
  | 'prefill_iid'
  | 'decode_iid'
>;

interface Group {
  rows: number;
  completed: number;
  failedAttempts: number;
  readonly firstByte: Digest;
  readonly interval: Digest;
}

/** Collects rows. */
export class JournalSummary {
  rows = 0;
  retried = 0;
  from: string | null = null;
  to: string | null = null;
  readonly #outcomes = new Map<string, { -readonly [K in keyof OutcomeCount]: OutcomeCount[K] }>();
  readonly #all = newGroup();
  readonly #tenants = new Map<string, Group>();
  readonly #engines = new Map<string, Group>();
  readonly #slowest: SlowRequest[] = [];
  readonly #top: number;

  /** @param top how many slow requests are kept. */
  constructor(top: number) {
    this.#top = top;
  }

  add(row: JournalRow): void {
    this.rows++;
    if (row.attempts > 1) this.retried++;
    if (this.from === null || row.at < this.from) this.from = row.at;
    if (this.to === null || row.at > this.to) this.to = row.at;
    this.#countOutcome(row);
    count(this.#all, row);
    count(groupOf(this.#tenants, row.tenant ?? '-'), row);
    if (row.prefill_iid != null) count(groupOf(this.#engines, `${row.prefill_iid} prefill`), row);
    if (row.decode_iid != null) count(groupOf(this.#engines, `${row.decode_iid} decode`), row);
    for (const { iid, leg } of row.attempt_failures ?? []) {
      groupOf(this.#engines, `${iid} ${leg}`).failedAttempts++;
    }
    this.#keepSlow(row);
  }

  outcomes(): OutcomeCount[] {
    return [...this.#outcomes.values()].sort((a, b) => b.rows - a.rows);
  }

  all(): GroupSummary {
    return summarized('all', this.#all);
  }

  tenants(): GroupSummary[] {
    return [...this.#tenants].map(([name, group]) => summarized(name, group)).sort((a, b) => b.rows - a.rows);
  }

  engines(): GroupSummary[] {
    const byName = (a: GroupSummary, b: GroupSummary): number => (a.name < b.name ? -1 : 1);
    return [...this.#engines].map(([name, group]) => summarized(name, group)).sort(byName);
  }

  /** Slowest first. */
  slowest(): readonly SlowRequest[] {
    return this.#slowest;
  }

  #countOutcome({ terminal, reason, status, at, rid }: JournalRow): void {
    const key = `${terminal} ${reason}`;
    const known = this.#outcomes.get(key);
    if (known === undefined) {
      const first = { terminal, reason, rows: 1, statuses: [status], last_at: at, last_rid: rid };
      this.#outcomes.set(key, first);
      return;
    }
    known.rows++;
    if (!known.statuses.includes(status)) known.statuses = [...known.statuses, status].sort((a, b) => a - b);
    if (at >= known.last_at) {
      known.last_at = at;
      known.last_rid = rid;
    }
  }

  /** The list is short and nearly always stays as it is: one comparison for most rows. */
  #keepSlow(row: JournalRow): void {
    const slowest = this.#slowest;
    const least = slowest.length < this.#top ? Number.NEGATIVE_INFINITY : slowest.at(-1)?.duration_s;
    if (least === undefined || row.duration_s <= least) return;
    const at = slowest.findIndex((other) => other.duration_s < row.duration_s);
    slowest.splice(at === -1 ? slowest.length : at, 0, slowFields(row));
    if (slowest.length > this.#top) slowest.pop();
  }
}

function newGroup(): Group {
  return { rows: 0, completed: 0, failedAttempts: 0, firstByte: new Digest(), interval: new Digest() };
}

function groupOf(groups: Map<string, Group>, name: string): Group {
  const known = groups.get(name);
  if (known !== undefined) return known;
  if (groups.size >= MAX_GROUPS && name !== REST) return groupOf(groups, REST);
  const group = newGroup();
  groups.set(name, group);
  return group;
}

function count(group: Group, row: JournalRow): void {
  group.rows++;
  if (row.terminal === 'completed') group.completed++;
  group.firstByte.add(row.first_byte_s);
  group.interval.add(row.tpot_s);
}

function summarized(name: string, group: Group): GroupSummary {
  return {
    name,
    rows: group.rows,
    completed: group.completed,
    failed_attempts: group.failedAttempts,
    first_byte_s: group.firstByte.quantiles(SHARES),
    token_interval_s: group.interval.quantiles(SHARES),
  };
}

function slowFields(row: JournalRow): SlowRequest {
  const { rid, at, tenant, terminal, reason, status, queue_wait_s, first_byte_s, duration_s } = row;
  const { output_len, attempts, prefill_iid, decode_iid } = row;
  return {
    rid,
    at,
    tenant,
    terminal,
    reason,
    status,
    queue_wait_s,
    first_byte_s,
    duration_s,
    output_len,
    attempts,
    prefill_iid,
    decode_iid,
  };
}
