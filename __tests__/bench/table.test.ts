/** The table that is printed, and the one in the docs. */
import { evaluate } from './bench-module';

const ROWS = `[
  judge('json CPU', { value: 1.234, min: 1.1, max: 12.34 }),
  judge('json p99', { value: 1.8001, min: 1.7, max: 1.9 }),
  judge('stream lag', { value: 0.3, min: 0.2, max: 0.4 }),
  judge('toy proxy', { skipped: 'pip install it' }),
  judge('journal row', { failed: 'no disk' }),
  judge('10,000 streams served', { value: 1, remark: '9800 streams' }),
]`;

/** Both modules in one scope: a table is made of judged rows. */
const tabled = <T>(expression: string): T => {
  const rows = evaluate<object[]>('rows.mjs', ROWS);
  return evaluate<T>('table.mjs', expression.replace('ROWS', JSON.stringify(rows)));
};

test('the printed table has value, spread, unit, floor and goal, and marks what misses', () => {
  const [head, ...lines] = tabled<string>('textTable(ROWS)').split('\n');
  expect(head?.trim().split(/ {2,}/)).toEqual(['measure', 'value', 'min-max', 'unit', 'floor', 'goal']);
  expect(lines.map((line) => line.split(/ {2,}/))).toEqual([
    ['json CPU', '1.23', '1.10-12.3', 'x (a)', '1.7', '1.1'],
    // Rounded like the others it would look as if it were at its floor.
    ['json p99', '1.8001', '1.70-1.90', 'x (a)', '1.8', '1.15', 'BELOW ITS FLOOR'],
    ['stream lag', '0.30', '0.20-0.40', 'ms', '1', '0.4', 'goal'],
    ['toy proxy', '-', '-', 'x its req/s', '5', '10', 'skipped: pip install it'],
    ['journal row', '-', '-', 'us', '4', '2', 'FAILED: no disk'],
    ['10,000 streams served', '1.00', '-', 'share', '1', '1', 'goal; 9800 streams'],
  ]);
});

test('the table of the docs leaves out what was skipped, and has the remarks below it', () => {
  const table = tabled<string>(`markdownTable({ node: 'v20', rounds: 5, seconds: 1, rows: ROWS })`);
  expect(table).toContain('| json CPU | 1.23 | 1.10-12.3 | x (a) | 1.7 | 1.1 |');
  expect(table).not.toContain('toy proxy');
  expect(table).toContain('Node v20, 5 rounds of 1 s. 10,000 streams served: 9800 streams.');
});

test('a block of a page is replaced, and nothing around it', () => {
  const page = 'before\n<!-- bench -->\nold\n<!-- /bench -->\nafter\n';
  const made = evaluate('table.mjs', `withBlock(${JSON.stringify(page)}, 'bench', 'new')`);
  expect(made).toBe('before\n<!-- bench -->\n\nnew\n\n<!-- /bench -->\nafter\n');
  expect(() => evaluate('table.mjs', `withBlock('no such block', 'bench', 'new')`)).toThrow(/has no block/);
});

test('rows that a run did not make stay in the docs as they were, in the order of all rows', () => {
  const before = [
    { name: 'a', value: 1 },
    { name: 'c', value: 3 },
  ];
  const now = [
    { name: 'c', value: 4 },
    { name: 'b', value: 2 },
  ];
  const all = `mergedRows(${JSON.stringify(before)}, ${JSON.stringify(now)}, ['a', 'b', 'c', 'd'])`;
  expect(evaluate('docs.mjs', all)).toEqual([
    { name: 'a', value: 1 },
    { name: 'b', value: 2 },
    { name: 'c', value: 4 },
  ]);
});
