// npm run bench:sweep [-- --rounds 3] [--seconds 1] [--warm 20000] [--out DIR] [--draw]
// How the cost of a request grows with engines, prompt size and concurrency. Writes sweep.json and a picture for
// each sweep to docs/performance/, and fills the sizing table of docs/performance.md.
//   --out   another folder for the files; the page is left alone
//   --draw  measures nothing: draws the sweep.json that is there again
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readArguments } from './arguments.mjs';
import { FOLDER, fillBlock, writeJson } from './docs.mjs';
import { Harness, WARM } from './harness.mjs';
import { prepareMachine } from './machine.mjs';
import { sweepPictures } from './plots/sweep-pictures.mjs';
import { engines } from './sweep/engines.mjs';
import { concurrency, prompts } from './sweep/loads.mjs';
import { sizingTable } from './sweep/sizing.mjs';
import { streams } from './sweep/streams.mjs';

const FLAGS = { rounds: 'number', seconds: 'number', warm: 'number', out: 'text', draw: 'switch' };
const { flags, names, problem } = readArguments(process.argv.slice(2), FLAGS);
if (problem !== null || names.length > 0) {
  console.error(problem ?? `bench:sweep takes no ${names.join(', ')}`);
  process.exit(2);
}
const { rounds = 3, seconds = 1, warm = WARM, out = FOLDER } = flags;
const clear = process.stderr.isTTY ? '\r\x1b[K' : '';

async function swept(name, sweep) {
  const tick = (text) => {
    if (process.stderr.isTTY) process.stderr.write(`${clear}${name}: ${text}`);
  };
  const harness = await Harness.start();
  try {
    const result = await sweep(harness, { rounds, seconds, warm, tick });
    await harness.verify();
    process.stderr.write(`${clear}${name}: done\n`);
    return result;
  } finally {
    await harness.close();
  }
}

async function measured() {
  for (const text of prepareMachine()) console.error(text);
  const sweeps = {
    engines: await swept('engines', engines),
    prompts: await swept('prompts', prompts),
    concurrency: await swept('concurrency', concurrency),
  };
  const { eventCpuMs } = await swept('streams', streams);
  return { node: process.version, rounds, seconds, sweeps, eventCpuMs };
}

const path = join(out, 'sweep.json');
const result = flags.draw ? JSON.parse(readFileSync(path, 'utf8')) : await measured();
writeJson(path, result);
for (const [file, svg] of Object.entries(sweepPictures(result))) writeFileSync(join(out, file), svg);
if (out === FOLDER) fillBlock('sizing', sizingTable(result));
console.log(sizingTable(result));
