/** Every example runs as a reader runs it: plain node, against the build. */
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createFleet } from '../lib';

const FOLDER = resolve(__dirname, '../examples');

/** What each example must print, beside exiting with 0. */
const PRINTS: Readonly<Record<string, readonly RegExp[]>> = {
  '01-quick-start.mjs': [
    /^plain: \S/m,
    /^streamed: \S.* \(\d+ events\)$/m,
    /^legs: prefill on p\d, decode on d\d, /m,
  ],
  '02-pipeline-by-hand.mjs': [/^200 completed for acme\n401 rejected for null\n400 invalid for acme$/m],
  '03-guards-alone.mjs': [/-> 200 the host$/m, /-> 404 the model does not exist/m, /-> 400 n must be 1$/m],
  '04-unit-test.mjs': [/pass 4\b/, /fail 0\b/],
  '05-journal-sink.mjs': [
    /acme: \{ requests: 2, refused: 0, tokens: 8 \}/,
    /nobody: \{ requests: 1, refused: 1/,
  ],
  '06-fleet-test.mjs': [/pass 3\b/, /fail 0\b/],
};

interface Run {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function run(file: string, cwd: string): Promise<Run> {
  // The runner of an example must not take itself for a child of this one.
  const { NODE_TEST_CONTEXT: _, NODE_OPTIONS: __, ...env } = process.env;
  return new Promise((done) => {
    const child = execFile(process.execPath, [join(FOLDER, file)], { cwd, env }, (_error, stdout, stderr) =>
      done({ code: child.exitCode, stdout, stderr }),
    );
  });
}

const examples = readdirSync(FOLDER).filter((name) => name.endsWith('.mjs'));

describe('the examples', () => {
  let cwd: string;
  beforeAll(() => {
    cwd = mkdtempSync(join(tmpdir(), 'narwhal-examples-'));
  });
  afterAll(() => {
    rmSync(cwd, { recursive: true });
  });

  test('are all listed here', () => {
    expect(examples.sort()).toEqual(Object.keys(PRINTS));
  });

  test.each(examples)(
    '%s runs, prints what happened and leaves nothing behind',
    async (file) => {
      const { code, stdout, stderr } = await run(file, cwd);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      for (const line of PRINTS[file]!) expect(stdout).toMatch(line);
      expect(readdirSync(cwd)).toEqual([]);
    },
    60_000,
  );

  test.each(examples)('%s is short and imports the package by its name', (file) => {
    const text = readFileSync(join(FOLDER, file), 'utf8');
    expect(text.trimEnd().split('\n').length).toBeLessThan(60);
    expect(text).toMatch(/from 'express-narwhal'/);
    expect(text).not.toMatch(/from '\.\.?\//);
  });

  test('include a fleet file that loads', async () => {
    const fleet = createFleet(JSON.parse(readFileSync(join(FOLDER, 'fleet.example.json'), 'utf8')) as object);
    expect(fleet.engines.map(({ iid }) => iid)).toEqual(['p0', 'p1', 'd0', 'd1']);
    await fleet.close();
  });
});
