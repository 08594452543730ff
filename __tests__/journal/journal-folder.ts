/** A temporary folder with a journal in it, and its rows read back over all rotated files. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const HEADER = '{"meta":{"schema":"test.journal"}}';

export interface JournalFolder {
  readonly folder: string;
  readonly path: string;
  /** Files that exist, oldest first. */
  files(): string[];
  /** Lines of one file; fails where the last is not ended. */
  lines(path: string): string[];
  /** Rows of all files, oldest first, without the headers; every line must be JSON. */
  rows(): { n: number }[];
  remove(): void;
}

export function journalFolder(): JournalFolder {
  const folder = mkdtempSync(join(tmpdir(), 'journal-'));
  const path = join(folder, 'rows.jsonl');
  const lines = (file: string): string[] => {
    const text = readFileSync(file, 'utf8');
    if (text === '') return [];
    expect(text.endsWith('\n')).toBe(true);
    return text.slice(0, -1).split('\n');
  };
  const files = (): string[] => {
    const found = existsSync(path) ? [path] : [];
    for (let n = 1; existsSync(`${path}.${n}`); n++) found.unshift(`${path}.${n}`);
    return found;
  };
  return {
    folder,
    path,
    files,
    lines,
    rows: () =>
      files()
        .flatMap(lines)
        .filter((line) => line !== HEADER)
        .map((line) => JSON.parse(line) as { n: number }),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** A row with a number, filled up to about `length` characters. */
export function row(n: number, length = 0): string {
  return JSON.stringify({ n, fill: 'x'.repeat(length) });
}

/** 0, 1, ... count - 1. */
export function numbers(count: number, from = 0): number[] {
  return Array.from({ length: count }, (_, i) => from + i);
}
