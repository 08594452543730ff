import { GATEWAY } from './pair.mjs';

const REQUESTS = 100_000;
const STEPS = 10;
const IDLE_STREAMS = 1000;

/** Memory after many requests, then with many streams open that say nothing. `--warm` makes them fewer. */
export async function memory(harness, { warm = REQUESTS, tick }) {
  const requests = Math.min(REQUESTS, warm);
  await harness.engines({ n: 8, interval: -1 });
  const target = await harness.target(...GATEWAY);
  for (let step = 0; step < STEPS; step++) {
    tick(`${(step * requests) / STEPS} of ${requests} requests`);
    await harness.load(target, ['--clients', 32], { requests: requests / STEPS });
  }
  const { rssMb } = await target.ask('accounts');
  tick(`${IDLE_STREAMS} idle streams`);
  await harness.engines({ n: 2, interval: 60_000, first: 0 });
  const held = await harness.hold(target, { streams: IDLE_STREAMS, ramp: 1, seconds: 3 });
  await target.stop();
  if (held.answered < IDLE_STREAMS || Object.keys(held.failures).length > 0) {
    throw new Error(`${held.answered} of ${IDLE_STREAMS} opened, failures ${JSON.stringify(held.failures)}`);
  }
  return { 'RSS, 100,000 requests': { value: rssMb }, 'RSS, 1,000 streams': { value: held.until.rssMb } };
}
