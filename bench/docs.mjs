// Puts what was measured where the docs show it.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { markdownTable, withBlock } from './table.mjs';

const DOCS = join(dirname(fileURLToPath(import.meta.url)), '../docs');
const PAGE = join(DOCS, 'performance.md');
export const FOLDER = join(DOCS, 'performance');
const RUN = join(FOLDER, 'bench.json');

/** Fills a block of docs/performance.md. */
export function fillBlock(name, text) {
  writeFileSync(PAGE, withBlock(readFileSync(PAGE, 'utf8'), name, text));
}

export function writeJson(path, value) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`);
}

/** Rows of a run, in the order of all rows; rows that this run did not make stay as they were. */
export function mergedRows(before, now, order) {
  const byName = new Map([...before, ...now].map((row) => [row.name, row]));
  return order.flatMap((name) => byName.get(name) ?? []);
}

/** Keeps the run as docs/performance/bench.json, and writes its table into the page. */
export function writeRun(run, order) {
  const before = existsSync(RUN) ? JSON.parse(readFileSync(RUN, 'utf8')).rows : [];
  const all = { ...run, rows: mergedRows(before, run.rows, order) };
  writeJson(RUN, all);
  fillBlock('bench', markdownTable(all));
}
