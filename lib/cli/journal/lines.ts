/** The lines of files, a piece at a time: memory stays small, whatever the size of the file. */
import { createReadStream } from 'node:fs';
import { basename } from 'node:path';
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';

const PIECE_BYTES = 1024 * 1024;
/** A longer line is no row: what is read of it is dropped. */
const MAX_LINE_BYTES = 8 * 1024 * 1024;
const LINE_END = 0x0a;

/** Lines without their ends. `tail` is what follows the last line end: a row cut by a crash, or nothing. */
export interface LineBatch {
  readonly lines: readonly Buffer[];
  readonly tail: Buffer | null;
  /** Lines that were too long. */
  readonly dropped: number;
}

/** @param path a file, one that gzip has packed (`.gz`), or `-` for standard input. */
export async function* readLines(path: string): AsyncGenerator<LineBatch> {
  let rest: Buffer[] = [];
  let restBytes = 0;
  let skipping = false;
  for await (const piece of open(path)) {
    const bytes = piece as Buffer;
    const lines: Buffer[] = [];
    let dropped = 0;
    let start = 0;
    for (let end = bytes.indexOf(LINE_END); end !== -1; end = bytes.indexOf(LINE_END, start)) {
      const part = bytes.subarray(start, end);
      if (skipping) dropped++;
      else lines.push(rest.length === 0 ? part : Buffer.concat([...rest, part]));
      rest = [];
      restBytes = 0;
      skipping = false;
      start = end + 1;
    }
    if (!skipping && start < bytes.length) {
      rest.push(bytes.subarray(start));
      restBytes += bytes.length - start;
      skipping = restBytes > MAX_LINE_BYTES;
      if (skipping) rest = [];
    }
    yield { lines, tail: null, dropped };
  }
  yield { lines: [], tail: rest.length > 0 ? Buffer.concat(rest) : null, dropped: skipping ? 1 : 0 };
}

function open(path: string): Readable {
  if (path === '-') return process.stdin;
  const file = createReadStream(path, { highWaterMark: PIECE_BYTES });
  if (!path.endsWith('.gz')) return file;
  const unpacked = createGunzip({ chunkSize: PIECE_BYTES });
  file.once('error', (error) => unpacked.destroy(error));
  return file.pipe(unpacked);
}

/**
 * Rotated files of one journal, oldest first: `rows.jsonl.2`, `rows.jsonl.1`, `rows.jsonl`. Other files
 * keep their places.
 */
export function inOrder(paths: readonly string[]): string[] {
  const parts = paths.map((path, at) => {
    const [, stem, number] = /^(.*?)\.(\d+)(?:\.gz)?$/.exec(basename(path)) ?? [];
    const name = stem === undefined ? path : path.slice(0, path.length - basename(path).length) + stem;
    return { path, at, name, age: number === undefined ? 0 : Number(number) };
  });
  const firstOf = new Map<string, number>();
  for (const { name, at } of parts) if (!firstOf.has(name)) firstOf.set(name, at);
  return parts
    .sort((a, b) => firstOf.get(a.name)! - firstOf.get(b.name)! || b.age - a.age)
    .map(({ path }) => path);
}
