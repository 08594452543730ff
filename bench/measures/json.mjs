import { ratio } from '../figures.mjs';
import { WARM } from '../harness.mjs';
import { GATEWAY, pair, REFERENCE } from './pair.mjs';

/** Small JSON requests, 16 at a time. Windows are twice as long: one request in a hundred makes the p99. */
export async function json(harness, { seconds, warm = WARM, ...options }) {
  await harness.engines({ n: 8, interval: -1 });
  const all = { ...options, warm, seconds: 2 * seconds };
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
