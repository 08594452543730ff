/** A journal in memory: a sink for `journal`, whose rows a test can wait for. */
import type { JournalRow, JournalSink } from '../../lib/index';

/** Rows as they were written. */
export class CapturedJournal implements JournalSink {
  readonly rows: JournalRow[] = [];
  closed = false;
  #waiting: (() => void)[] = [];

  write(row: JournalRow): void {
    // As a file would keep it: what JSON cannot hold must not go unseen.
    this.rows.push(JSON.parse(JSON.stringify(row)) as JournalRow);
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const look of waiting) look();
  }

  close(): void {
    this.closed = true;
  }

  /** Waits until there are `count` rows (the test's own timeout is the limit). */
  async waitForRows(count: number): Promise<readonly JournalRow[]> {
    while (this.rows.length < count) {
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
      });
    }
    return this.rows;
  }

  /** Waits for the first row. */
  async firstRow(): Promise<JournalRow> {
    const [row] = await this.waitForRows(1);
    return row!;
  }
}

/** A new journal in memory. */
export function captureJournal(): CapturedJournal {
  return new CapturedJournal();
}
