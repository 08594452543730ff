/** The packed package, installed into empty hosts: what a user of the registry gets. */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const ROOT = resolve(__dirname, '..');
/** Covers a download of all dependencies from the registry. */
const TIMEOUT = 180_000;

/** A host: the same program in both module systems, beside its imports. */
const HOST = `
async function main() {
  const fleet = await startStubFleet();
  const narwhal = narwhalRouter({ fleet: fleet.fleetFile(), journal: false });
  const server = express().use('/llm', narwhal).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const response = await fetch(\`http://127.0.0.1:\${server.address().port}/llm/v1/chat/completions\`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: fleet.model, messages: [{ role: 'user', content: 'Say hello' }] }),
  });
  const answer = await response.json();
  server.close();
  await narwhal.close();
  await fleet.close();
  fleet.assertNoBreaches();
  console.log(JSON.stringify({ status: response.status, answer, legs: fleet.calls.map(({ leg }) => leg) }));
}
main();
`;

const HOSTS = {
  CommonJS: {
    type: 'commonjs',
    imports: `const express = require('express');
const { narwhalRouter } = require('express-narwhal');
const { startStubFleet } = require('express-narwhal/testing');`,
  },
  ESM: {
    type: 'module',
    imports: `import express from 'express';
import { narwhalRouter } from 'express-narwhal';
import { startStubFleet } from 'express-narwhal/testing';`,
  },
} as const;

function run(file: string, args: readonly string[], cwd: string): Promise<string> {
  return new Promise((done, fail) => {
    execFile(file, args, { cwd, maxBuffer: 1 << 24 }, (error, stdout, stderr) => {
      if (error === null) done(stdout);
      else fail(new Error(`${file} ${args.join(' ')} failed\n${stdout}\n${stderr}`));
    });
  });
}

describe('the packed package', () => {
  let folder: string;
  let packed: { readonly filename: string; readonly files: readonly { readonly path: string }[] };

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'narwhal-package-'));
    // Without scripts: prepack would build again, under the feet of tests that use the build.
    const pack = ['pack', '--ignore-scripts', '--json', '--pack-destination', folder];
    [packed] = JSON.parse(await run('npm', pack, ROOT)) as [typeof packed];
    writeFileSync(join(folder, 'package.json'), '{ "private": true }');
    const install = ['install', '--prefer-offline', '--no-audit', '--no-fund'];
    await run('npm', [...install, join(folder, packed.filename), 'express'], folder);
  }, TIMEOUT);

  afterAll(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  test('holds the build, the docs and the examples, and nothing else', () => {
    const tops = new Set(packed.files.map(({ path }) => path.split('/')[0]));
    expect([...tops].sort()).toEqual([
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'dist',
      'docs',
      'examples',
      'package.json',
    ]);
  });

  test('holds every file that package.json names', () => {
    const { main, types, exports, bin } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
      main: string;
      types: string;
      exports: Record<string, string | Record<string, string>>;
      bin: Record<string, string>;
    };
    const named = [main, types, ...Object.values(bin), ...Object.values(exports).flatMap(leaves)];
    const paths = packed.files.map(({ path }) => `./${path}`);
    expect(named.filter((path) => !paths.includes(path))).toEqual([]);
  });

  test('holds the parts of the fleet page, which no compiler puts there', () => {
    const own = readdirSync(join(ROOT, 'lib/inspection/page/assets'));
    const paths = packed.files.map(({ path }) => path);
    expect(own).toContain('page.html');
    expect(own.filter((name) => !paths.includes(`dist/inspection/page/assets/${name}`))).toEqual([]);
  });

  test.each(Object.entries(HOSTS))(
    'serves a request in an empty %s host',
    async (name, { type, imports }) => {
      const host = join(folder, name);
      mkdirSync(host);
      writeFileSync(join(host, 'package.json'), JSON.stringify({ private: true, type }));
      writeFileSync(join(host, 'index.js'), `${imports}\n${HOST}`);
      const output = JSON.parse(await run(process.execPath, ['index.js'], host)) as object;
      expect(output).toEqual({
        status: 200,
        answer: expect.objectContaining({
          object: 'chat.completion',
          choices: [expect.objectContaining({ finish_reason: 'stop' })],
        }),
        legs: ['prefill', 'decode'],
      });
    },
    60_000,
  );

  test('brings the narwhal command', async () => {
    const output = await run(join(folder, 'node_modules/.bin/narwhal'), ['--version'], folder);
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
    expect(output.trim()).toBe(version);
  }, 60_000);
});

function leaves(entry: string | Record<string, string>): string[] {
  return typeof entry === 'string' ? [entry] : Object.values(entry);
}
