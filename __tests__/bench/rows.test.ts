/** Which rows pass, and what a run ends with. */
import { evaluate } from './bench-module';

interface Row {
  readonly holds: boolean;
  readonly reachesGoal: boolean | null;
}

const judged = (name: string, figure: object) =>
  evaluate<Row>('rows.mjs', `judge(${JSON.stringify(name)}, ${JSON.stringify(figure)})`);

describe('a row', () => {
  test.each([
    ['json requests/s', { value: 0.6 }, true],
    ['json requests/s', { value: 0.599 }, false],
    ['json CPU', { value: 1.7 }, true],
    ['json CPU', { value: 1.701 }, false],
    ['10,000 streams served', { value: 1 }, true],
    ['10,000 streams served', { value: 0.99 }, false],
    ['toy proxy', { skipped: 'no python' }, true],
    ['toy proxy', { failed: 'it broke' }, false],
    ['toy proxy', { value: null }, false],
    ['createServer CPU', { value: 3 }, true],
    ['createServer CPU', { failed: 'it broke' }, false],
  ])('%s with %j holds: %s', (name, figure, holds) => {
    expect(judged(name, figure).holds).toBe(holds);
  });

  test.each([
    ['json CPU', { value: 1.1 }, true],
    ['json CPU', { value: 1.5 }, false],
    ['json requests/s', { value: 0.96 }, true],
    ['createServer CPU', { value: 1 }, null],
    ['toy proxy', { skipped: 'no python' }, null],
  ])('%s with %j reaches its goal: %s', (name, figure, reaches) => {
    expect(judged(name, figure).reachesGoal).toBe(reaches);
  });
});

test('one row below its floor makes the exit status 1', () => {
  expect(evaluate('rows.mjs', 'statusOf([{ holds: true }, { holds: true }])')).toBe(0);
  expect(evaluate('rows.mjs', 'statusOf([{ holds: true }, { holds: false }])')).toBe(1);
});

test('a measure that breaks fails all of its rows', () => {
  const rows = evaluate('rows.mjs', `failedRows('memory', 'no memory')`);
  const failed = { failed: 'no memory' };
  expect(rows).toEqual({ 'RSS, 100,000 requests': failed, 'RSS, 1,000 streams': failed });
});

test('every measure that has rows can be run, and the other way round', () => {
  const made = evaluate<string[]>('measures/index.mjs', 'Object.keys(MEASURES)');
  const named = evaluate<string[]>('rows.mjs', 'NAMES');
  const byDefault = evaluate<string[]>('rows.mjs', 'DEFAULT_NAMES');
  expect(made.sort()).toEqual([...named].sort());
  expect(named.filter((name) => !byDefault.includes(name))).toEqual(['server']);
});
