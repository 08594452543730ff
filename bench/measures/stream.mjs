import { ratio, summary } from '../figures.mjs';
import { GATEWAY } from './pair.mjs';

const WARM_STREAMS = 400;
/** Streams of which all events come at once: most of the code is compiled by them, in seconds. */
const WARM_BURSTS = 8000;

/** 64 streams of 64 events, 10 ms apart. Windows are twice as long: a stream lasts 0.7 s. */
export async function stream(harness, { seconds, warm, ...options }) {
  const targets = [
    await harness.target(...GATEWAY),
    await harness.target('pipe', 'pipe.mjs'),
    harness.direct,
  ];
  const flags = ['--clients', 64, '--stream', '--lag'];
  await harness.engines({ n: 64, interval: -1 });
  for (const target of targets) {
    await harness.warm(target, ['--clients', 16, '--stream'], warm ?? WARM_BURSTS);
  }
  await harness.engines({ n: 64, interval: 10 });
  const paced = { ...options, warm: warm ?? WARM_STREAMS, seconds: 2 * seconds };
  const results = await harness.rounds(targets, flags, paced);
  for (const target of targets) await target.stop();
  return {
    'stream CPU': ratio(results, 'cpuPerRequest', 'gateway', 'pipe'),
    'stream lag': summary(results.map((round) => round.gateway.lag50 - round.direct.lag50)),
  };
}
