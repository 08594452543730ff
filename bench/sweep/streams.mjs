import { GATEWAY } from '../measures/pair.mjs';
import { pointsOf } from './points.mjs';

/** Blocks of a stream of 64 events: those, the end with its usage, and the first with the role. */
const EVENTS = 66;
const WARM_STREAMS = 400;

/** @returns CPU of one event in ms, the share of its stream's two legs included */
export async function streams(harness, { seconds, warm, ...options }) {
  await harness.engines({ n: 64, interval: 10 });
  const target = await harness.target(...GATEWAY);
  const all = { ...options, seconds: 3 * seconds, warm: Math.min(warm, WARM_STREAMS) };
  const results = await harness.rounds([target], ['--clients', 64, '--stream'], all);
  await target.stop();
  return { eventCpuMs: pointsOf(results, { gateway: 'gateway' }).gateway.cpuMs / EVENTS };
}
