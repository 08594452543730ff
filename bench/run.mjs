// npm run bench [-- <name> ...] [--rounds 5] [--seconds 2] [--json]
// Prints a table of ratios with the floor beside each; exit status 1 when a row misses its floor.
import { Harness } from './harness.mjs';
import { MEASURES, ROWS } from './measures.mjs';

const args = process.argv.slice(2);
const number = (name, fallback) => {
  const at = args.indexOf(`--${name}`);
  return at === -1 ? fallback : Number(args.splice(at, 2)[1]);
};
const rounds = number('rounds', 5);
const seconds = number('seconds', 2);
const asJson = args.includes('--json');
const names = args.filter((arg) => !arg.startsWith('--'));
const unknown = names.filter((name) => !(name in MEASURES));
if (unknown.length > 0) {
  console.error(`no measure ${unknown.join(', ')}; there are ${Object.keys(MEASURES).join(', ')}`);
  process.exit(2);
}

const figures = {};
for (const name of names.length > 0 ? names : Object.keys(MEASURES)) {
  const harness = await Harness.start();
  const tick = (text) => process.stderr.write(`\r\x1b[K${name}: ${text}`);
  try {
    Object.assign(figures, await MEASURES[name](harness, { rounds, seconds, tick }));
  } finally {
    harness.close();
  }
}
process.stderr.write('\r\x1b[K');

const rows = Object.entries(figures).map(([name, value]) => {
  const { floor, goal, unit, most } = ROWS[name];
  const holds = most ? value <= floor : value >= floor;
  return { name, value: Number(value.toFixed(2)), unit, floor, goal, holds };
});
if (asJson) console.log(JSON.stringify({ node: process.version, rounds, rows }, null, 2));
else {
  console.log('measure                   value  unit         floor   goal');
  for (const { name, value, unit, floor, goal, holds } of rows) {
    const mark = holds ? ' ' : '  below its floor';
    console.log(
      `${name.padEnd(24)}${value.toFixed(2).padStart(7)}  ${unit.padEnd(11)}${String(floor).padStart(7)}${String(goal).padStart(7)}${mark}`,
    );
  }
}
process.exit(rows.every(({ holds }) => holds) ? 0 : 1);
