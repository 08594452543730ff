// CPU of one journal row beyond JSON.stringify, over all threads of the process.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createJournal } from 'express-narwhal';
import { summary } from './figures.mjs';

const ROWS = 100_000;
/** Rows of one turn of the event loop: a busy gateway writes this many between two flushes. */
const BURST = 50;

const row = {
  run: 'V1StGXR8_Z5jdHi6B-myT',
  rid: 'IRFa-VaY2b_3xkq0cDm9a',
  client_rid: null,
  tenant: 'team-a',
  route: '/v1/chat/completions',
  stream: true,
  at: '2026-01-01T00:00:00.000Z',
  arrived: 12345.678901,
  input_len: 421,
  output_len: 64,
  terminal: 'completed',
  reason: null,
};

async function cpuOf(work) {
  const before = process.cpuUsage();
  for (let done = 0; done < ROWS; done += BURST) {
    for (let i = 0; i < BURST; i++) work();
    await new Promise(setImmediate);
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / ROWS;
}

/** @returns microseconds: the median of the rounds, and their spread */
export async function journalRowCost(rounds) {
  const folder = mkdtempSync(join(tmpdir(), 'narwhal-bench-'));
  const journal = createJournal(join(folder, 'journal.jsonl'));
  let kept = '';
  const costs = [];
  for (let round = 0; round < rounds; round++) {
    const plain = await cpuOf(() => {
      kept = JSON.stringify(row);
    });
    costs.push((await cpuOf(() => journal.write(row))) - plain);
  }
  await journal.close();
  rmSync(folder, { recursive: true });
  if (kept === '') throw new Error('nothing was written');
  return summary(costs);
}
