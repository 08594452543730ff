/** The file system as the journal uses it: plain descriptors, promises, and nothing that blocks. */
import fs, { type Stats } from 'node:fs';
import { promisify } from 'node:util';

/** The calls; each rejects with Node's own error, whose `code` tells the kind. */
export interface FileCalls {
  open(path: string, flags: 'a' | 'r'): Promise<number>;
  /** @returns how many bytes of `buffer` from `offset` on were written; may be fewer than all. */
  write(fd: number, buffer: Buffer, offset: number): Promise<number>;
  /** The byte at `position`, or -1 past the end. */
  byteAt(fd: number, position: number): Promise<number>;
  fstat(fd: number): Promise<Stats>;
  stat(path: string): Promise<Stats>;
  fsync(fd: number): Promise<void>;
  close(fd: number): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  /** With every missing parent. */
  mkdir(path: string): Promise<unknown>;
}

const open = promisify(fs.open);
const fstat = promisify<number, Stats>(fs.fstat);
const stat = promisify<string, Stats>(fs.stat);
const mkdir = promisify<string, { recursive: true }, unknown>(fs.mkdir);

/** The real file system. */
export const realFiles: FileCalls = Object.freeze({
  open,
  fstat,
  stat,
  fsync: promisify(fs.fsync),
  close: promisify(fs.close),
  rename: promisify(fs.rename),
  mkdir: (path: string) => mkdir(path, { recursive: true }),
  write: (fd: number, buffer: Buffer, offset: number) =>
    new Promise<number>((resolve, reject) => {
      // No position: the descriptor was opened to append.
      fs.write(fd, buffer, offset, buffer.length - offset, null, (error, count) => {
        if (error) reject(error);
        else resolve(count);
      });
    }),
  byteAt: (fd: number, position: number) =>
    new Promise<number>((resolve, reject) => {
      const one = Buffer.alloc(1);
      fs.read(fd, one, 0, 1, position, (error, count) => {
        if (error) reject(error);
        else resolve(count === 1 ? one[0]! : -1);
      });
    }),
});
