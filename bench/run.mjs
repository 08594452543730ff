// npm run bench [-- <name> ...] [--rounds 5] [--seconds 1] [--warm N] [--json] [--write-docs] [--profile DIR]
// Prints a table of ratios with the floor beside each; exit status 1 when a row misses its floor, 2 when the
// command line is wrong.
//   --rounds      visits of each target
//   --seconds     length of a window; `stream` takes twice as much, `json` half as much again, twice as often
//   --warm        requests before anything is measured, in place of each measure's own number
//   --write-docs  keeps the rows in docs/performance/bench.json and in the table of docs/performance.md
//   --profile     a folder for CPU profiles of the gateway; figures are worth nothing then
import { readArguments } from './arguments.mjs';
import { writeRun } from './docs.mjs';
import { Harness } from './harness.mjs';
import { prepareMachine } from './machine.mjs';
import { DEFAULT_NAMES, failedRows, judge, ROWS, statusOf, unknownNames } from './rows.mjs';
import { textTable } from './table.mjs';

const FLAGS = {
  rounds: 'number',
  seconds: 'number',
  warm: 'number',
  json: 'switch',
  'write-docs': 'switch',
  profile: 'text',
};

const { flags, names, problem } = readArguments(process.argv.slice(2), FLAGS);
const wrong = problem ?? unknownNames(names);
if (wrong !== null) {
  console.error(wrong);
  process.exit(2);
}
const { rounds = 5, seconds = 1, warm, profile } = flags;
const clear = process.stderr.isTTY ? '\r\x1b[K' : '';
const note = (text) => process.stderr.write(`${clear}${text}\n`);

/** One measure, with engines of its own. @returns figures by row */
async function measure(name, run, progress) {
  const tick = (text) => {
    if (process.stderr.isTTY) process.stderr.write(`${clear}${progress} ${name}: ${text}`);
  };
  const nodeFlags = profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`];
  const harness = await Harness.start({ nodeFlags });
  try {
    const figures = await run(harness, { rounds, seconds, warm, tick, note });
    // Peers of one leg may drop the fields that only two legs need.
    if (name !== 'peers') await harness.verify();
    return figures;
  } catch (error) {
    return failedRows(name, error.message);
  } finally {
    await harness.close();
  }
}

for (const text of prepareMachine()) note(text);
const { MEASURES } = await import('./measures/index.mjs');
const wanted = names.length > 0 ? names : DEFAULT_NAMES;
const rows = [];
for (const [at, name] of wanted.entries()) {
  const progress = `[${at + 1}/${wanted.length}]`;
  if (!process.stderr.isTTY) note(`${progress} ${name}`);
  const figures = await measure(name, MEASURES[name], progress);
  rows.push(...Object.entries(figures).map(([row, figure]) => judge(row, figure)));
}
process.stderr.write(clear);

const result = { node: process.version, rounds, seconds, rows };
console.log(flags.json ? JSON.stringify(result, null, 2) : textTable(rows));
if (flags['write-docs']) writeRun(result, Object.keys(ROWS));
process.exitCode = statusOf(rows);
