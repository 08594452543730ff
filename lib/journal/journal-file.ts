/** One open journal file: whole lines go in, and what a full disk cut in two is continued. */
import { dirname } from 'node:path';
import type { FileCalls } from './file-calls';

/** What became of the rows of one `append`. */
export interface Appended {
  /** How many rows, from the first on, are on file whole. The others must be given again. */
  readonly placed: number;
  /** Why not all of them are. */
  readonly error: Error | null;
  /** The file has lost its name (somebody removed it): nothing that was written can be read. */
  readonly gone: boolean;
}

const NEWLINE = 0x0a;
const NOTHING = Buffer.alloc(0);

/** A file opened to append. Calls must not overlap. */
export class JournalFile {
  /** Bytes in the file. */
  size: number;
  /** Whether anything but this opening's own header stands in the file. */
  hasRows: boolean;
  /** False for a device or a pipe, which has no size and no lines to look back at. */
  readonly regular: boolean;
  readonly #calls: FileCalls;
  readonly #path: string;
  readonly #fd: number;
  readonly #id: string;
  /** What must stand before the next row: the header of this opening, or the rest of it. */
  #lead: Buffer;
  /** Bytes of the next row that are on file already. */
  #cut = 0;

  private constructor(calls: FileCalls, path: string, fd: number, lead: Buffer, at: FileState) {
    this.#calls = calls;
    this.#path = path;
    this.#fd = fd;
    this.#lead = lead;
    this.#id = at.id;
    this.size = at.size;
    this.hasRows = at.size > 0;
    this.regular = at.regular;
  }

  /**
   * Opens `path` to append and creates its folder if need be.
   *
   * @param header first line of this opening, without its line end. It is written with the first rows.
   */
  static async open(calls: FileCalls, path: string, header: string): Promise<JournalFile> {
    const fd = await openOrCreate(calls, path);
    try {
      const stats = await calls.fstat(fd);
      const state = { id: `${stats.dev}:${stats.ino}`, size: stats.size, regular: stats.isFile() };
      // A crash may have cut the last line: the next one must not be glued to it.
      const gap = state.regular && (await endsInLine(calls, path, stats.size)) ? '\n' : '';
      return new JournalFile(calls, path, fd, Buffer.from(`${gap}${header}\n`), state);
    } catch (error) {
      await calls.close(fd).catch(() => undefined);
      throw error;
    }
  }

  /** Whether a row stands on file in part: only that row may come next. */
  get midRow(): boolean {
    return this.#cut > 0;
  }

  /** Bytes that the next append writes before its rows. */
  get leadBytes(): number {
    return this.#lead.length;
  }

  /** Whether the path still leads to this file. */
  async isCurrent(): Promise<boolean> {
    if (!this.regular) return true;
    try {
      const { dev, ino } = await this.#calls.stat(this.#path);
      return `${dev}:${ino}` === this.#id;
    } catch {
      return false;
    }
  }

  /**
   * Appends rows, after the header where it is due. Never rejects.
   *
   * @param rows lines without their line ends. After an append that ended mid-row, the first must be the
   * row that was cut: only its rest is written.
   */
  async append(rows: readonly string[]): Promise<Appended> {
    const text = rows.length === 0 ? '' : `${rows.join('\n')}\n`;
    const body = Buffer.from(text).subarray(this.#cut);
    const buffer = this.#lead.length === 0 ? body : Buffer.concat([this.#lead, body]);
    let offset = 0;
    let error: Error | null = null;
    try {
      while (offset < buffer.length) {
        const count = await this.#calls.write(this.#fd, buffer, offset);
        if (count === 0) throw new Error('the file takes no more bytes');
        offset += count;
      }
    } catch (caught) {
      error = caught as Error;
    }
    const placed = offset === buffer.length ? this.#settleAll(rows) : this.#settle(rows, offset);
    this.size += offset;
    return { placed, error, gone: await this.#isGone() };
  }

  /** The common case of `#settle`: everything is on file. */
  #settleAll(rows: readonly string[]): number {
    this.#lead = NOTHING;
    this.#cut = 0;
    if (rows.length > 0) this.hasRows = true;
    return rows.length;
  }

  /** Moves the marks past `bytes` written bytes. @returns how many rows are on file whole. */
  #settle(rows: readonly string[], bytes: number): number {
    const ofLead = Math.min(bytes, this.#lead.length);
    this.#lead = this.#lead.subarray(ofLead);
    let rest = bytes - ofLead + this.#cut;
    let placed = 0;
    while (placed < rows.length) {
      const length = Buffer.byteLength(rows[placed]!) + 1;
      if (rest < length) break;
      rest -= length;
      placed++;
    }
    this.#cut = rest;
    if (placed > 0 || rest > 0) this.hasRows = true;
    return placed;
  }

  /** Looks at the descriptor, not at the path: one call that touches no disk. */
  async #isGone(): Promise<boolean> {
    if (!this.regular) return false;
    try {
      const { nlink, size } = await this.#calls.fstat(this.#fd);
      // Another writer of the same file, or somebody who has emptied it, changes the size.
      this.size = size;
      return nlink === 0;
    } catch {
      return false;
    }
  }

  /** Waits until the content is on the disk itself. Devices and pipes have nothing to wait for. */
  async sync(): Promise<void> {
    if (this.regular) await this.#calls.fsync(this.#fd);
  }

  /** Gives the descriptor back. Never rejects. */
  async close(): Promise<void> {
    await this.#calls.close(this.#fd).catch(() => undefined);
  }
}

interface FileState {
  readonly id: string;
  readonly size: number;
  readonly regular: boolean;
}

async function openOrCreate(calls: FileCalls, path: string): Promise<number> {
  try {
    return await calls.open(path, 'a');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    await calls.mkdir(dirname(path));
    return calls.open(path, 'a');
  }
}

/** Whether the last line lacks its end. */
async function endsInLine(calls: FileCalls, path: string, size: number): Promise<boolean> {
  if (size === 0) return false;
  let fd: number;
  try {
    fd = await calls.open(path, 'r');
  } catch {
    // Not ours to read: an empty line does no harm, a glued one does.
    return true;
  }
  try {
    return (await calls.byteAt(fd, size - 1)) !== NEWLINE;
  } finally {
    await calls.close(fd).catch(() => undefined);
  }
}
