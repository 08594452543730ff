// CPU of one journal row beyond JSON.stringify, over all threads of the process.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createJournal } from 'express-narwhal';
import { summary } from './figures.mjs';

const ROWS = 20_000;
/** Pairs of a round. Short ones: the two of a pair then meet the machine in the same mood. */
const PAIRS = 5;
/** Rows of one turn of the event loop: a busy gateway writes this many between two flushes. */
const BURST = 50;

/** A row as the router writes it: every field. */
const row = {
  run: 'V1StGXR8Z5jdHi6BmyTx1',
  rid: 'IRFaVaY2b3xkq0cDm9aK4',
  client_rid: null,
  tenant: 'team-a',
  route: '/v1/chat/completions',
  stream: true,
  at: '2026-01-01T00:00:00.000Z',
  arrived: 12345.678901,
  input_len: 421,
  output_len: 64,
  wanted_len: 64,
  ttft_s: 0.081234,
  first_byte_s: 0.093456,
  tpot_s: 0.010123,
  queue_wait_s: 0,
  price_s: null,
  shadow: null,
  duration_s: 0.741852,
  prefill_iid: 'p0',
  decode_iid: 'd1',
  crossed: true,
  terminal: 'completed',
  reason: null,
  cancelled_phase: null,
  status: 200,
  attempts: 1,
  decode_attempts: 1,
  attempt_failures: [],
  kv: 'claimed',
  parts: null,
  finish_reason: 'stop',
  error: null,
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

/** @returns microseconds: the median of all pairs, and their spread */
export async function journalRowCost(rounds) {
  const folder = mkdtempSync(join(tmpdir(), 'narwhal-bench-'));
  const journal = createJournal(join(folder, 'journal.jsonl'));
  let kept = '';
  const costs = [];
  for (let pair = 0; pair < rounds * PAIRS; pair++) {
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
