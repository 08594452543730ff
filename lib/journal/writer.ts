/**
 * The journal's own writer: rows are buffered and appended in batches, files rotate by size, and
 * trouble with the disk stops no request.
 *
 * Not a winston transport: one row costs under 2 us beside its `JSON.stringify`, and `close()` keeps
 * every row. One writer per path; a second process needs a path of its own.
 */
import { JournalFile } from './journal-file';
import { rotate } from './rotation';
import { RowQueue } from './row-queue';
import { type JournalWriterOptions, resolveWriterOptions, type WriterSettings } from './writer-options';

export type { JournalWriterOptions } from './writer-options';

const MIB = 1024 * 1024;
/** Characters of rows that wait in memory while the disk refuses them. */
const TROUBLE_LIMIT = 8 * MIB;
/** The same while the disk is well and merely behind, as after a burst within one turn. */
const BURST_LIMIT = 64 * MIB;
/** Bytes of one write: a backlog is written in pieces. */
const BATCH = MIB;
const RETRY_FIRST_MS = 250;
const RETRY_LAST_MS = 5000;
const PATH_CHECK_MS = 1000;
/** Faults that leave the descriptor good: the same line goes on where it was cut. */
const KEEP_OPEN: readonly unknown[] = ['ENOSPC', 'EDQUOT', 'EFBIG', 'EAGAIN'];

interface Waiter {
  readonly upTo: number;
  readonly done: () => void;
}

/** Appends rows to a file. See `JournalWriterOptions`. */
export class JournalWriter {
  readonly #settings: WriterSettings;
  readonly #queue = new RowQueue();
  readonly #flushTimer: NodeJS.Timeout;
  #flushDue = false;
  #file: JournalFile | null = null;
  #checkedAt = 0;
  #rotateNotBefore = 0;
  #running = false;
  /** Nothing has been opened yet: open although no row waits, so that a bad path is known early. */
  #untried = true;
  /** Rows taken on, rows off the queue for good, and how many of those a write is wanted for. */
  #accepted = 0;
  #dropped = 0;
  #written = 0;
  #wanted = 0;
  #late = 0;
  #waiters: Waiter[] = [];
  #retryTimer: NodeJS.Timeout | null = null;
  /** The present episode of trouble: attempts in it, and `#dropped` at its start. */
  #trouble: { attempts: number; readonly droppedBefore: number } | null = null;
  #closing: Promise<void> | null = null;

  /** @throws {ConfigError} for a bad option, an empty path and a path that is a folder. */
  constructor(options: JournalWriterOptions) {
    const settings = resolveWriterOptions(options);
    this.#settings = settings;
    this.#flushTimer = setTimeout(() => this.#onFlushTimer(), settings.flushMs).unref();
    this.#start();
  }

  /** Rows that are on file. */
  get written(): number {
    return this.#written;
  }

  /** Rows that could not be kept: dropped while the disk refused them, or given after `close()`. */
  get lost(): number {
    return this.#dropped + this.#late;
  }

  /**
   * Takes a row on. Never throws and never waits.
   *
   * @param line JSON text without a line end.
   */
  write(line: string): void {
    if (this.#closing !== null) {
      this.#late++;
      return;
    }
    this.#queue.push(line);
    this.#accepted++;
    const { size } = this.#queue;
    if (this.#trouble !== null) {
      if (size > TROUBLE_LIMIT) this.#trim();
    } else if (size >= this.#settings.flushBytes) {
      this.#wanted = this.#accepted;
      this.#start();
      if (size > BURST_LIMIT) this.#trim();
    } else if (!this.#flushDue) {
      this.#flushDue = true;
      this.#flushTimer.refresh();
    }
  }

  /**
   * Writes what waits, now.
   *
   * @returns settles when every row so far has been given to the operating system, or when an attempt
   * has failed; it never rejects. What is on the disk itself is the matter of `close()`.
   */
  flush(): Promise<void> {
    this.#wanted = this.#accepted;
    return new Promise((done) => {
      this.#waiters.push({ upTo: this.#accepted, done });
      this.#start();
    });
  }

  /**
   * Writes what waits and gives the file back. Later calls return the same promise.
   *
   * @returns settles when every row is on the disk itself, or is counted in `lost` because a last
   * attempt failed; it never rejects.
   */
  close(): Promise<void> {
    this.#closing ??= this.#finish();
    return this.#closing;
  }

  async #finish(): Promise<void> {
    clearTimeout(this.#flushTimer);
    await this.flush();
    // That may have been the end of an attempt that was failing already: the last one is begun here.
    if (this.#queue.length > 0) await this.flush();
    if (this.#retryTimer !== null) clearTimeout(this.#retryTimer);
    const left = this.#queue.clear();
    this.#dropped += left;
    if (left > 0) this.#warn(`closed with ${left} rows that could not be written`);
    await this.#release();
  }

  #onFlushTimer(): void {
    this.#flushDue = false;
    this.#wanted = this.#accepted;
    if (this.#trouble === null) this.#start();
  }

  #start(): void {
    if (this.#running) return;
    this.#running = true;
    void this.#run();
  }

  /** The one place that touches the file; never runs twice at a time, never rejects. */
  async #run(): Promise<void> {
    let failed = false;
    try {
      while (this.#untried || this.#settled < this.#wanted) {
        await this.#step();
        this.#answerWaiters(this.#settled);
      }
    } catch (error) {
      failed = true;
      this.#fail(error as Error);
    }
    this.#running = false;
    this.#answerWaiters(failed ? Number.POSITIVE_INFINITY : this.#settled);
    // Rows that came during the last step and found the timer spent.
    if (!failed && this.#queue.length > 0 && !this.#flushDue && this.#closing === null) {
      this.#flushDue = true;
      this.#flushTimer.refresh();
    }
  }

  get #settled(): number {
    return this.#written + this.#dropped;
  }

  #answerWaiters(upTo: number): void {
    if (this.#waiters.length === 0) return;
    const ready = this.#waiters.filter((waiter) => waiter.upTo <= upTo);
    this.#waiters = this.#waiters.filter((waiter) => waiter.upTo > upTo);
    for (const { done } of ready) done();
  }

  async #step(): Promise<void> {
    this.#untried = false;
    const file = await this.#current();
    const limited = file.regular && performance.now() >= this.#rotateNotBefore;
    const room = limited ? this.#settings.maxBytes - file.size - file.leadBytes : Number.POSITIVE_INFINITY;
    const rows = this.#queue.take(room, file.midRow || !file.hasRows || !limited, BATCH);
    const full = rows.length === 0 && (this.#queue.length > 0 || room < 0);
    if (full && file.hasRows) return this.#rotate(file);
    const { placed, error, gone } = await file.append(rows);
    // Rows in a file that has lost its name can never be read: they go to the next one.
    const kept = gone ? 0 : placed;
    this.#written += kept;
    this.#queue.putBack(rows.slice(kept));
    if (gone || (error !== null && !KEEP_OPEN.includes((error as NodeJS.ErrnoException).code))) {
      await this.#release();
    }
    if (error !== null) throw error;
    this.#recover();
  }

  /** The open file, or a new one where the path does not lead to it any more. */
  async #current(): Promise<JournalFile> {
    const now = performance.now();
    if (this.#file !== null && !this.#file.midRow && now - this.#checkedAt >= PATH_CHECK_MS) {
      this.#checkedAt = now;
      if (!(await this.#file.isCurrent())) await this.#release();
    }
    if (this.#file === null) {
      this.#file = await JournalFile.open(this.#settings.files, this.#settings.path, this.#settings.header);
      this.#checkedAt = performance.now();
    }
    return this.#file;
  }

  async #rotate(file: JournalFile): Promise<void> {
    try {
      // Somebody else may have moved it: what has the name now is not ours to move.
      if (await file.isCurrent())
        await rotate(this.#settings.files, this.#settings.path, this.#settings.maxFiles);
    } catch (error) {
      // Better one file that is too long than rows that are lost.
      if (this.#rotateNotBefore === 0) this.#warn(`cannot be rotated (${textOf(error)}); it grows on`);
      this.#rotateNotBefore = performance.now() + RETRY_LAST_MS;
      return;
    }
    this.#rotateNotBefore = 0;
    await this.#release();
  }

  async #release(): Promise<void> {
    const file = this.#file;
    this.#file = null;
    if (file === null) return;
    await file.sync().catch((error: unknown) => this.#warn(`may not be on the disk yet (${textOf(error)})`));
    await file.close();
  }

  #fail(error: Error): void {
    if (this.#trouble === null) {
      this.#trouble = { attempts: 0, droppedBefore: this.#dropped };
      this.#warn(
        `cannot be written (${textOf(error)}); rows wait in memory, the oldest are dropped above 8 MiB`,
      );
    }
    this.#trim();
    if (this.#retryTimer !== null) clearTimeout(this.#retryTimer);
    const wait = Math.min(RETRY_LAST_MS, RETRY_FIRST_MS * 2 ** this.#trouble.attempts++);
    this.#retryTimer = setTimeout(() => {
      this.#wanted = this.#accepted;
      this.#untried = true;
      this.#start();
    }, wait).unref();
  }

  #recover(): void {
    if (this.#trouble === null) return;
    const lost = this.#dropped - this.#trouble.droppedBefore;
    this.#trouble = null;
    if (this.#retryTimer !== null) clearTimeout(this.#retryTimer);
    this.#retryTimer = null;
    this.#warn(`is written again; ${lost} rows were lost`);
  }

  #trim(): void {
    const limit = this.#trouble === null ? BURST_LIMIT : TROUBLE_LIMIT;
    this.#dropped += this.#queue.dropOldest(limit, this.#file?.midRow === true);
  }

  #warn(message: string): void {
    try {
      this.#settings.onWarning(`journal ${this.#settings.path} ${message}`);
    } catch {
      // The host's logger must not stop the journal.
    }
  }
}

function textOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return code ?? message;
}
