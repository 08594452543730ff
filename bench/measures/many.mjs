import { openFiles } from '../machine.mjs';

const STREAMS = 10_000;
/** Beside its two sockets for each stream, a gateway has those of the prefill legs, which idle for a while. */
const OTHER_FILES = 4000;
const RAMP_S = 16;
const SECONDS = 8;

/** How many streams fit under a limit of open files. */
export function streamsThatFit(limit) {
  return Math.max(0, Math.min(STREAMS, Math.floor((limit - OTHER_FILES) / 2)));
}

/** Many open streams, one event a second each. CPU is that of the time when all are open. */
export async function many(harness, { tick, note }) {
  const limit = openFiles(2 * STREAMS + OTHER_FILES);
  const streams = streamsThatFit(limit);
  const remark =
    streams < STREAMS ? { remark: `${streams} streams, as many as ${limit} open files allow` } : {};
  await harness.engines({ n: 120, interval: 1000 });
  const target = await harness.target('gateway', 'gateway.mjs');
  tick(`${streams} streams`);
  const held = await harness.hold(target, { streams, ramp: RAMP_S, seconds: SECONDS });
  await target.stop();
  const { answered, failures, refused, events, least, from, until, elapsedMs } = held;
  if (refused > 0) note(`${refused} streams were refused for a second while others were opened`);
  // A stream may be between two events at both ends of the window.
  const failed = Object.entries(failures).map(([why, count]) => `, ${count} ${why}`);
  const isServed = answered === streams && failed.length === 0 && least >= SECONDS - 2;
  if (!isServed) {
    note(`of ${streams} streams ${answered} opened${failed.join('')}; the slowest got ${least} events`);
  }
  const scale = STREAMS / streams;
  const scaled = scale > 1 ? { remark: `scaled up from ${streams} streams` } : {};
  const cores = (until.cpuMs - from.cpuMs) / elapsedMs;
  return {
    '10,000 streams served': {
      value: isServed ? 1 : Math.min(0.99, events / (streams * SECONDS)),
      ...remark,
    },
    '10,000 streams CPU': isServed ? { value: cores * scale, ...scaled } : { failed: 'not served' },
  };
}
