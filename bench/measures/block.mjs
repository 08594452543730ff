import { summary } from '../figures.mjs';
import { GATEWAY } from './pair.mjs';

const WARM_PROMPTS = 60;
const PROMPT = ['--clients', 1, '--kb', 4000];

/** How long one 4 MB prompt holds the event loop: each prompt comes alone, four in a round. */
export async function block(harness, { rounds, warm = WARM_PROMPTS, tick }) {
  await harness.engines({ n: 8, interval: -1 });
  const target = await harness.target(...GATEWAY);
  await harness.warm(target, PROMPT, Math.min(warm, WARM_PROMPTS));
  const blocks = [];
  for (let at = 0; at < 4 * rounds; at++) {
    tick(`prompt ${at + 1} of ${4 * rounds}`);
    await target.ask('reset');
    await harness.load(target, PROMPT, { requests: 1 });
    blocks.push((await target.ask('accounts')).longestBlockMs);
  }
  await target.stop();
  return { 'loop block, 4 MB': summary(blocks) };
}
