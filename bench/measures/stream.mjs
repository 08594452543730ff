import { ratio, summary } from '../figures.mjs';
import { GATEWAY } from './pair.mjs';

const WARM_STREAMS = 400;

/** 64 streams of 64 events, 10 ms apart. Windows are twice as long: a stream lasts 0.7 s. */
export async function stream(harness, { seconds, warm = WARM_STREAMS, ...options }) {
  await harness.engines({ n: 64, interval: 10 });
  const targets = [
    await harness.target(...GATEWAY),
    await harness.target('pipe', 'pipe.mjs'),
    harness.direct,
  ];
  const flags = ['--clients', 64, '--stream', '--lag'];
  const results = await harness.rounds(targets, flags, { ...options, warm, seconds: 2 * seconds });
  for (const target of targets) await target.stop();
  return {
    'stream CPU': ratio(results, 'cpuPerRequest', 'gateway', 'pipe'),
    'stream lag': summary(results.map((round) => round.gateway.lag50 - round.direct.lag50)),
  };
}
