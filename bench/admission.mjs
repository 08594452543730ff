// npm run bench:admission [-- --seconds 20] [--json]
// Twice the load that a fleet can take, with `open` and with `predictive` admission. Prints the goodput of
// both (answers whose first byte came within the slo, weighed by their prefill work) and how true the predictions were; exit status 1 when
// a row misses its floor.
import { createServer } from 'node:http';
import express from 'express';
import { narwhalRouter } from 'express-narwhal';
import { fixedRateFleet, workS } from './admission/fleet.mjs';
import { openLoop, randomOf } from './admission/load.mjs';

const SHAPE = { prefill: 2, tokensPerS: 3000, overheadMs: 5 };
const LOAD = { minTokens: 100, maxTokens: 700 };
const TTFT_S = 1;
const OVERLOAD = 2;
const SEED = 20_260_101;

const at = process.argv.indexOf('--seconds');
const seconds = at === -1 ? 20 : Number(process.argv[at + 1]);
const perS = SHAPE.prefill / workS(SHAPE, (LOAD.minTokens + LOAD.maxTokens) / 2);
// What waits when the last request has come may still be in time.
const possible = SHAPE.prefill * (seconds + TTFT_S);

async function run(admission) {
  const fleet = await fixedRateFleet(SHAPE);
  const rows = [];
  const router = narwhalRouter({
    fleet: fleet.fleetFile({
      slo: { ttft_s: TTFT_S },
      serving: { admission, max_connections: 100_000 },
    }),
    journal: { write: (row) => rows.push(row), close: () => undefined },
    closeTimeoutS: 0,
    // The delay of this one process is not the subject: engines, gateway and clients share it.
    admissionGate: { maxDelayS: 10 },
  });
  const server = createServer(express().use(router));
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${server.address().port}`;
  const results = await openLoop(url, { ...LOAD, perS: perS * OVERLOAD, seconds, random: randomOf(SEED) });
  await router.close();
  server.closeAllConnections();
  server.close();
  await fleet.close();
  const good = results.filter(({ status, firstByteS }) => status === 200 && firstByteS <= TTFT_S);
  const served = rows.filter(({ terminal, price_s }) => terminal === 'completed' && price_s !== null);
  const ratios = served.map(({ first_byte_s, price_s }) => first_byte_s / price_s).sort((a, b) => a - b);
  return {
    offered: results.length,
    admitted: results.filter(({ status }) => status === 200 || status === 0).length,
    refused: results.filter(({ status }) => status === 429).length,
    good: good.length,
    /** Engine seconds of the good answers: short prompts count for less. */
    goodWork: good.reduce((sum, { tokens }) => sum + workS(SHAPE, tokens), 0),
    ratios,
  };
}

const quantile = (values, share) => values[Math.floor(values.length * share)];
const open = await run('open');
const predictive = await run('predictive');
const rows = [
  { name: 'predictive / possible', value: predictive.goodWork / possible, floor: 0.9 },
  { name: 'predictive / open', value: predictive.goodWork / Math.max(0.001, open.goodWork), floor: 2 },
  {
    name: 'actual / predicted',
    value: quantile(predictive.ratios, 0.5),
    floor: 0.8,
    most: 1.25,
  },
].map((row) => ({
  ...row,
  holds: row.value >= row.floor && row.value <= (row.most ?? Number.POSITIVE_INFINITY),
}));

if (process.argv.includes('--json')) {
  console.log(JSON.stringify({ node: process.version, seconds, possible, open, predictive, rows }, null, 2));
} else {
  console.log(
    `${SHAPE.prefill} prefill engines, ${perS.toFixed(1)} requests/s possible, ${OVERLOAD} times as many offered`,
  );
  console.log(`first token aimed at within ${TTFT_S} s; ${seconds} s of arrivals for each mode\n`);
  console.log('admission    offered  admitted  refused  within slo');
  for (const [name, { offered, admitted, refused, good }] of Object.entries({ open, predictive })) {
    const cells = [offered, admitted, refused, good].map((value, i) =>
      String(value).padStart([9, 10, 9, 12][i]),
    );
    console.log(name.padEnd(11) + cells.join(''));
  }
  console.log('\nmeasure                  value        floor');
  for (const { name, value, floor, most, holds } of rows) {
    const range = most === undefined ? String(floor) : `${floor}-${most}`;
    console.log(
      `${name.padEnd(24)}${value.toFixed(2).padStart(6)}${range.padStart(13)}${holds ? '' : '  missed'}`,
    );
  }
  const [low, high] = [0.1, 0.9].map((share) => quantile(predictive.ratios, share)?.toFixed(2));
  console.log(`\nactual / predicted lies between ${low} and ${high} for 8 of 10 requests`);
}
process.exit(rows.every(({ holds }) => holds) ? 0 : 1);
