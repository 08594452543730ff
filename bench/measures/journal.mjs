import { journalRowCost } from '../journal-cost.mjs';

/** One row of the journal, beyond its `JSON.stringify`. */
export async function journal(_harness, { rounds }) {
  return { 'journal row': await journalRowCost(rounds) };
}
