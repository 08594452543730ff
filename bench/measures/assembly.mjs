import { ratio } from '../figures.mjs';
import { GATEWAY, pair, REFERENCE } from './pair.mjs';

const WARM_ANSWERS = 6000;

/** 64 streamed events into one JSON answer; (a) parses each. */
export async function assembly(harness, { warm = WARM_ANSWERS, ...options }) {
  await harness.engines({ n: 64, interval: -1 });
  const reference = [...REFERENCE, ['parse']];
  const results = await pair(harness, GATEWAY, reference, ['--clients', 16], { ...options, warm });
  return { assembly: ratio(results, 'cpuPerRequest', 'gateway', 'a') };
}
