import { ratio } from '../figures.mjs';
import { WARM } from '../harness.mjs';
import { GATEWAY, pair, REFERENCE } from './pair.mjs';

async function prompt(harness, { warm, warmBySize, kb, ...options }) {
  const all = { ...options, small: warm ?? WARM, warm: warm ?? warmBySize };
  const results = await pair(harness, GATEWAY, REFERENCE, ['--clients', 8, '--kb', kb], all);
  return ratio(results, 'cpuPerRequest', 'gateway', 'a');
}

/** Long prompts, 8 at a time. */
export async function prompts(harness, options) {
  await harness.engines({ n: 8, interval: -1 });
  return {
    'prompt 100 KB': await prompt(harness, { ...options, kb: 100, warmBySize: 1500 }),
    'prompt 1 MB': await prompt(harness, { ...options, kb: 1000, warmBySize: 300 }),
  };
}
