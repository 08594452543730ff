// Pure: rows to the table that is printed, and to the one that stands in the docs.

/** @param {number | null} value */
export function shown(value) {
  if (value === null) return '-';
  return Math.abs(value) < 10 ? value.toFixed(2) : value.toFixed(Math.abs(value) < 100 ? 1 : 0);
}

/** Exactly at its bound and just beside it must not look the same. */
function shownBeside(value, floor) {
  const short = shown(value);
  return value !== null && value !== floor && Number(short) === floor ? value.toFixed(4) : short;
}

const bound = (value) => (value === null ? '-' : String(value));
const spread = ({ min, max }) => (min === null ? '-' : `${shown(min)}-${shown(max)}`);

function mark({ holds, skipped, failed, reachesGoal, remark }) {
  if (skipped !== null) return `skipped: ${skipped}`;
  if (failed !== null) return `FAILED: ${failed}`;
  const place = holds ? reachesGoal && 'goal' : 'BELOW ITS FLOOR';
  return [place, remark].filter(Boolean).join('; ');
}

const HEAD = ['measure', 'value', 'min-max', 'unit', 'floor', 'goal'];
const WIDTHS = [22, 7, 12, 12, 6, 6];
const LEFT = ['measure', 'unit'];

const cellsOf = (row) => [
  row.name,
  shownBeside(row.value, row.floor),
  spread(row),
  row.unit,
  bound(row.floor),
  bound(row.goal),
];

/** For a terminal. */
export function textTable(rows) {
  const pad = (cell, i) => (LEFT.includes(HEAD[i]) ? cell.padEnd(WIDTHS[i]) : cell.padStart(WIDTHS[i]));
  const line = (cells, note = '') => `${cells.map(pad).join('  ')}  ${note}`.trimEnd();
  return [line(HEAD), ...rows.map((row) => line(cellsOf(row), mark(row)))].join('\n');
}

/** For the docs. Rows that were skipped do not stand there. */
export function markdownTable({ node, rounds, seconds, rows }) {
  const lines = rows
    .filter(({ skipped }) => skipped === null)
    .map((row) => `| ${cellsOf(row).join(' | ')} |`);
  const remarks = rows.filter(({ remark }) => remark).map(({ name, remark }) => `${name}: ${remark}.`);
  return [
    '| Measure | Value | Lowest and highest round | Unit | Floor | Goal |',
    '| --- | --- | --- | --- | --- | --- |',
    ...lines,
    '',
    [`Node ${node}, ${rounds} rounds of ${seconds} s.`, ...remarks].join(' '),
  ].join('\n');
}

/**
 * Puts text between `<!-- name -->` and `<!-- /name -->`.
 * @throws when the page has no such block
 */
export function withBlock(page, name, text) {
  const [open, close] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
  const from = page.indexOf(open);
  const to = page.indexOf(close);
  if (from === -1 || to < from) throw new Error(`the page has no block ${open}`);
  return `${page.slice(0, from + open.length)}\n\n${text}\n\n${page.slice(to)}`;
}
