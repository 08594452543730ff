import { ratio } from '../figures.mjs';
import { WARM } from '../harness.mjs';
import { GATEWAY, pair, REFERENCE } from './pair.mjs';

/**
 * V8 compiles the rarer paths of a gateway late: of the first 10,000 requests one costs 320 us, of the next ones 188,
 * 169, and from here on 150 to 160. (a) costs 172 and then 100.
 */
const WARM_ALL = 2 * WARM;

/**
 * Small JSON requests, 16 at a time: the rows that stand closest to their floors, so that they have twice the rounds,
 * and longer ones: one request in a hundred makes the p99.
 */
export async function json(harness, { rounds, seconds, warm = WARM_ALL, ...options }) {
  await harness.engines({ n: 8, interval: -1 });
  const all = { ...options, warm, rounds: 2 * rounds + 1, seconds: 1.5 * seconds };
  const results = await pair(harness, GATEWAY, REFERENCE, ['--clients', 16], all);
  return {
    'json requests/s': ratio(results, 'perSecond', 'gateway', 'a'),
    'json CPU': ratio(results, 'cpuPerRequest', 'gateway', 'a'),
    'json p99': ratio(results, 'p99', 'gateway', 'a'),
  };
}

/** The same requests on `createServer(app)` and on `app.listen()`. */
export async function server(harness, { seconds, warm = WARM, ...options }) {
  await harness.engines({ n: 8, interval: -1 });
  const plain = ['plain', 'gateway.mjs', ['--plain', '--patient']];
  const all = { ...options, warm, seconds: 2 * seconds };
  const results = await pair(harness, GATEWAY, plain, ['--clients', 16], all);
  return { 'createServer CPU': ratio(results, 'cpuPerRequest', 'gateway', 'plain') };
}
