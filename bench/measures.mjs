// What is measured, and what it must be. Each measure returns the figures of its rows, by row name.
import { median, ratio } from './harness.mjs';
import { journalRowCost } from './journal-cost.mjs';

const GATEWAY = ['gateway', 'gateway.mjs'];
const REFERENCE = ['a', 'reference.mjs'];

async function pair(harness, first, second, flags, options) {
  const targets = [await harness.target(...first), await harness.target(...second)];
  const results = await harness.rounds(targets, flags, options);
  for (const target of targets) harness.stop(target);
  return results;
}

/** Small JSON requests, 16 at a time. */
async function json(harness, options) {
  await harness.engines({ n: 8, interval: -1 });
  const results = await pair(harness, GATEWAY, REFERENCE, ['--clients', 16], options);
  return {
    'json requests/s': ratio(results, 'perSecond', 'gateway', 'a'),
    'json CPU': ratio(results, 'cpuPerRequest', 'gateway', 'a'),
    'json p99': ratio(results, 'p99', 'gateway', 'a'),
  };
}

/** 64 streams of 64 events, 10 ms apart. */
async function stream(harness, options) {
  await harness.engines({ n: 64, interval: 10 });
  const targets = [
    await harness.target(...GATEWAY),
    await harness.target('pipe', 'pipe.mjs'),
    harness.direct,
  ];
  const flags = ['--clients', 64, '--stream', '--lag'];
  const results = await harness.rounds(targets, flags, { ...options, seconds: Math.max(3, options.seconds) });
  for (const target of targets.slice(0, 2)) harness.stop(target);
  return {
    'stream CPU': ratio(results, 'cpuPerRequest', 'gateway', 'pipe'),
    'stream lag': median(results.map((round) => round.gateway.lag50 - round.direct.lag50)),
  };
}

async function prompt(harness, options, kb) {
  await harness.engines({ n: 8, interval: -1 });
  const results = await pair(harness, GATEWAY, REFERENCE, ['--clients', 8, '--kb', kb], options);
  return ratio(results, 'cpuPerRequest', 'gateway', 'a');
}

/** Long prompts, 8 at a time. */
async function prompts(harness, options) {
  return {
    'prompt 100 KB': await prompt(harness, options, 100),
    'prompt 1 MB': await prompt(harness, options, 1000),
  };
}

/** 64 streamed events into one JSON answer. */
async function assembly(harness, options) {
  await harness.engines({ n: 64, interval: -1 });
  const reference = [...REFERENCE, ['parse']];
  const results = await pair(harness, GATEWAY, reference, ['--clients', 16], options);
  return { assembly: ratio(results, 'cpuPerRequest', 'gateway', 'a') };
}

/** One row of the journal. */
async function journal(_harness, { rounds }) {
  return { 'journal row': await journalRowCost(rounds) };
}

/** How long one 4 MB prompt holds the event loop. */
async function block(harness, { rounds, tick }) {
  await harness.engines({ n: 8, interval: -1 });
  const target = await harness.target(...GATEWAY);
  const blocks = [];
  await harness.load(target, ['--clients', 1, '--kb', 4000], 1);
  for (let round = 0; round < rounds; round++) {
    tick(`round ${round + 1} of ${rounds}`);
    await target.ask('reset');
    await harness.load(target, ['--clients', 1, '--kb', 4000], 1);
    blocks.push((await target.ask('accounts')).longestBlockMs);
  }
  harness.stop(target);
  return { 'loop block': median(blocks) };
}

/** Memory after many requests, then with many idle streams. */
async function memory(harness, { tick, requests = 100_000 }) {
  await harness.engines({ n: 8, interval: -1 });
  const target = await harness.target(...GATEWAY);
  let done = 0;
  while (done < requests) {
    tick(`${done} of ${requests} requests`);
    done += (await harness.load(target, ['--clients', 32], 4)).done;
  }
  const afterRequests = (await target.ask('accounts')).rssMb;
  await harness.engines({ n: 2, interval: 3000 });
  const { rssMb } = await harness.load(target, ['--clients', 1000, '--stream'], 6);
  harness.stop(target);
  return { 'RSS after requests': afterRequests, 'RSS with 1,000 streams': rssMb };
}

/** Many open streams, one event a second each. */
async function many(harness, { tick, streams = 10_000 }) {
  await harness.engines({ n: 10, interval: 1000 });
  const target = await harness.target(...GATEWAY);
  tick(`${streams} streams`);
  const startedAt = performance.now();
  const before = await target.ask('accounts');
  await harness.load(target, ['--clients', streams, '--stream'], 25);
  const after = await target.ask('accounts');
  harness.stop(target);
  return { '10,000 streams': (after.cpuMs - before.cpuMs) / (performance.now() - startedAt) };
}

/** The measures by name; `npm run bench -- <name>` runs one. */
export const MEASURES = { json, stream, prompts, assembly, journal, block, memory, many };

/** What each row must be. `most` rows may not be above their floor, others not below. */
export const ROWS = {
  'json requests/s': { floor: 0.6, goal: 0.95, unit: 'x (a)' },
  'json CPU': { floor: 1.7, goal: 1.1, unit: 'x (a)', most: true },
  'json p99': { floor: 1.8, goal: 1.15, unit: 'x (a)', most: true },
  'stream CPU': { floor: 1.8, goal: 1.4, unit: 'x raw pipe', most: true },
  'stream lag': { floor: 1, goal: 0.4, unit: 'ms', most: true },
  'prompt 100 KB': { floor: 0.6, goal: 0.4, unit: 'x (a) CPU', most: true },
  'prompt 1 MB': { floor: 0.6, goal: 0.4, unit: 'x (a) CPU', most: true },
  assembly: { floor: 1.5, goal: 0.9, unit: 'x (a) CPU', most: true },
  'journal row': { floor: 4, goal: 2, unit: 'us', most: true },
  'loop block': { floor: 24, goal: 12, unit: 'ms', most: true },
  'RSS after requests': { floor: 160, goal: 110, unit: 'MB', most: true },
  'RSS with 1,000 streams': { floor: 160, goal: 110, unit: 'MB', most: true },
  '10,000 streams': { floor: 1, goal: 1, unit: 'cores', most: true },
};
