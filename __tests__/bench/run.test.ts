/** The command: what it refuses, and one measure of it in short. */
import { evaluate, runBench } from './bench-module';

interface Row {
  readonly name: string;
  readonly value: number;
  readonly holds: boolean;
  readonly failed: string | null;
  readonly skipped: string | null;
}

test('an unknown measure is refused with the list of those that there are', () => {
  const { status, stdout, stderr } = runBench('run.mjs', ['json', 'jsno']);
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
  expect(stderr).toMatch(/^no measure jsno; there are json, stream, prompts, assembly, .*server$/m);
});

test.each([
  [['--round', '3'], 'no flag --round; there are --rounds, --seconds,'],
  [['--rounds'], '--rounds wants a value'],
  [['--rounds', 'many'], '--rounds must be a number above 0'],
  [['--seconds', '-1'], '--seconds must be a number above 0'],
])('%j is refused', (args, problem) => {
  const { status, stderr } = runBench('run.mjs', args);
  expect(status).toBe(2);
  expect(stderr).toContain(problem);
});

test('the sweep refuses what it does not know', () => {
  const { status, stderr } = runBench('sweep.mjs', ['engines']);
  expect({ status, stderr }).toEqual({ status: 2, stderr: 'bench:sweep takes no engines\n' });
});

test('names and flags may stand in any order', () => {
  const words = ['json', '--rounds', '3', '--json', 'stream'];
  const kinds = { rounds: 'number', json: 'switch' };
  const read = `readArguments(${JSON.stringify(words)}, ${JSON.stringify(kinds)})`;
  expect(evaluate('arguments.mjs', read)).toEqual({
    flags: { rounds: 3, json: true },
    names: ['json', 'stream'],
    problem: null,
  });
});

test('a measure in short gives its row, and the exit status that the row asks for', () => {
  const args = ['assembly', '--rounds', '2', '--seconds', '0.2', '--warm', '50', '--json'];
  const { status, stdout, stderr } = runBench('run.mjs', args);
  const { rows } = JSON.parse(stdout) as { rows: Row[] };
  const [row] = rows;
  // With stderr beside it: a process of the bench says there why it ended.
  expect({ row, stderr }).toEqual({
    row: expect.objectContaining({ name: 'assembly', failed: null, skipped: null }) as Row,
    stderr: expect.any(String) as string,
  });
  expect(row?.value).toBeGreaterThan(0);
  expect(status).toBe(row?.holds ? 0 : 1);
}, 60_000);
