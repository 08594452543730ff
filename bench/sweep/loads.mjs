// Sweeps over what is asked of one gateway and of (a).
import { GATEWAY, REFERENCE } from '../measures/pair.mjs';
import { pointsOf } from './points.mjs';

const NAMES = { gateway: 'gateway', a: 'a' };
const IN_FLIGHT = [1, 4, 16, 64, 256, 512];
/** Size in KB, and requests of that size until both are warm. */
const PROMPTS = [
  [1, 20_000],
  [10, 6000],
  [100, 1500],
  [1000, 300],
  [4000, 60],
];

async function both(harness, loads, { tick, ...options }) {
  await harness.engines({ n: 8, interval: -1 });
  const targets = [await harness.target(...GATEWAY), await harness.target(...REFERENCE)];
  const points = [];
  for (const { at, flags, warm } of loads) {
    const all = { ...options, warm: Math.min(warm, options.warm), tick: (text) => tick(`${at}, ${text}`) };
    points.push({ at, ...pointsOf(await harness.rounds(targets, flags, all), NAMES) });
  }
  for (const target of targets) await target.stop();
  return points;
}

export function prompts(harness, options) {
  const loads = PROMPTS.map(([kb, warm]) => ({ at: kb, flags: ['--clients', 8, '--kb', kb], warm }));
  return both(harness, loads, options);
}

export function concurrency(harness, options) {
  // The first load warms up; the next ones find both warm, but for their sockets.
  const loads = IN_FLIGHT.map((clients, i) => ({
    at: clients,
    flags: ['--clients', clients],
    warm: i === 0 ? options.warm : 1000,
  }));
  return both(harness, loads, options);
}
