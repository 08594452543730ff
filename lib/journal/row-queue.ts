/** Pure: rows that wait to be written, oldest first, with their size in memory. */

/** A first-in first-out list of lines. Taking and dropping cost the same however long it is. */
export class RowQueue {
  #rows: string[] = [];
  #head = 0;
  #size = 0;

  /** Rows that wait. */
  get length(): number {
    return this.#rows.length - this.#head;
  }

  /** Characters that wait, line ends counted. */
  get size(): number {
    return this.#size;
  }

  push(row: string): void {
    this.#rows.push(row);
    this.#size += row.length + 1;
  }

  /**
   * Takes rows from the front, in order, while they fit.
   *
   * @param room bytes of UTF-8 that the rows and their line ends may fill.
   * @param atLeastOne take the first row even where it does not fit.
   * @param enough take no further row once so many bytes are taken.
   */
  take(room: number, atLeastOne: boolean, enough: number): string[] {
    let end = this.#head;
    let taken = 0;
    while (end < this.#rows.length && taken < enough) {
      const row = this.#rows[end]!;
      const bytes = Buffer.byteLength(row) + 1;
      if (taken + bytes > room && !(atLeastOne && end === this.#head)) break;
      taken += bytes;
      this.#size -= row.length + 1;
      end++;
    }
    const rows = this.#rows.slice(this.#head, end);
    this.#head = end;
    this.#compact();
    return rows;
  }

  /** Puts rows back at the front, in their order. */
  putBack(rows: readonly string[]): void {
    if (rows.length === 0) return;
    this.#rows = [...rows, ...this.#rows.slice(this.#head)];
    this.#head = 0;
    for (const row of rows) this.#size += row.length + 1;
  }

  /**
   * Drops the oldest rows until at most `limit` characters wait; the newest row always stays.
   *
   * @param keepFirst the first row is on file in part and must stay.
   * @returns how many rows were dropped.
   */
  dropOldest(limit: number, keepFirst: boolean): number {
    let dropped = 0;
    const kept = keepFirst ? 2 : 1;
    while (this.#size > limit && this.length > kept) {
      const victim = this.#head + (keepFirst ? 1 : 0);
      this.#size -= this.#rows[victim]!.length + 1;
      if (keepFirst) this.#rows[victim] = this.#rows[this.#head]!;
      this.#rows[this.#head] = '';
      this.#head++;
      dropped++;
    }
    this.#compact();
    return dropped;
  }

  /** Drops everything. @returns how many rows that were. */
  clear(): number {
    const count = this.length;
    this.#rows = [];
    this.#head = 0;
    this.#size = 0;
    return count;
  }

  /** Lets go of what stands before the head once it is the greater part. */
  #compact(): void {
    if (this.#head === this.#rows.length) {
      this.#rows = [];
      this.#head = 0;
    } else if (this.#head > 1024 && this.#head * 2 > this.#rows.length) {
      this.#rows = this.#rows.slice(this.#head);
      this.#head = 0;
    }
  }
}
