import { ratio } from '../figures.mjs';
import { WARM } from '../harness.mjs';
import { findPeers } from '../peers/find.mjs';
import { GATEWAY } from './pair.mjs';

/** The gateway beside other people's, each where it is installed. */
export async function peers(harness, { seconds, warm = WARM, note, ...options }) {
  const { found, missing } = findPeers(harness);
  const figures = Object.fromEntries(missing.map(({ name, want }) => [name, { skipped: want }]));
  if (found.length === 0) return figures;
  await harness.engines({ n: 8, interval: -1 });
  const targets = [await harness.target(...GATEWAY)];
  for (const { name, commandFor, options: more } of found) {
    try {
      targets.push(await harness.peer(name, commandFor, more));
    } catch (error) {
      note(`${name}: ${error.message}`);
      figures[name] = { skipped: 'it did not start' };
    }
  }
  const all = { ...options, warm, seconds: 2 * seconds };
  const results = await harness.rounds(targets, ['--clients', 16], all);
  for (const target of targets) await target.stop();
  for (const { name } of targets.slice(1)) figures[name] = ratio(results, 'perSecond', 'gateway', name);
  return figures;
}
