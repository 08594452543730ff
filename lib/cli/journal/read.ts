/** From files to a summary: which lines are rows, and which of them are young enough. */
import type { JournalRow } from '../../index';
import { unreadable } from './faults';
import { inOrder, readLines } from './lines';
import { JournalSummary } from './summary';

/** A summary, and what was not counted in it. */
export interface ReadResult {
  readonly summary: JournalSummary;
  readonly files: readonly string[];
  /** Rows that tell of the file itself. */
  readonly meta_rows: number;
  /** Lines that are no row: cut by a crash, or of something else. */
  readonly bad_lines: number;
  /** Rows before `since`. */
  readonly older_rows: number;
  /** Versions of the journal's schema that this program does not know. */
  readonly unknown_versions: readonly number[];
}

const SCHEMA_VERSION = 1;

/**
 * @param since ms since 1970; earlier rows are left out. Null for all.
 * @param top how many slow requests are kept.
 * @throws where a file cannot be read, with what to do about it.
 */
export async function readJournal(
  paths: readonly string[],
  since: number | null,
  top: number,
): Promise<ReadResult> {
  const files = inOrder(paths);
  const summary = new JournalSummary(top);
  const counts = { meta_rows: 0, bad_lines: 0, older_rows: 0 };
  const versions = new Set<number>();
  const take = (line: Buffer): void => {
    // A writer that goes on after a crash leaves an empty line at times.
    if (line.length === 0 || (line.length === 1 && line[0] === 0x0d)) return;
    const value = parse(line);
    if (isMeta(value)) {
      counts.meta_rows++;
      const version = value.meta.schema_version;
      if (typeof version === 'number' && version !== SCHEMA_VERSION) versions.add(version);
    } else if (!isRow(value)) counts.bad_lines++;
    else if (since !== null && Date.parse(value.at) < since) counts.older_rows++;
    else summary.add(value);
  };
  for (const path of files) {
    try {
      for await (const { lines, tail, dropped } of readLines(path)) {
        for (const line of lines) take(line);
        if (tail !== null) take(tail);
        counts.bad_lines += dropped;
      }
    } catch (error) {
      throw new Error(unreadable(path, error as NodeJS.ErrnoException), { cause: error });
    }
  }
  return { summary, files, ...counts, unknown_versions: [...versions] };
}

function parse(line: Buffer): unknown {
  try {
    return JSON.parse(line.toString('utf8')) as unknown;
  } catch {
    return null;
  }
}

function isMeta(value: unknown): value is { meta: { schema_version?: unknown } } {
  const { meta } = (value ?? {}) as { meta?: unknown };
  return typeof meta === 'object' && meta !== null;
}

/** Whether it has what the summary cannot do without; the rest is taken as it is. */
function isRow(value: unknown): value is JournalRow {
  const { rid, at, terminal, duration_s: duration } = (value ?? {}) as Partial<JournalRow>;
  return (
    typeof rid === 'string' &&
    typeof at === 'string' &&
    typeof terminal === 'string' &&
    typeof duration === 'number'
  );
}
