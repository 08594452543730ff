/** Blocks marked `run` are run as they stand, and the README's sample serves a request. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type StubFleet, startStubFleet } from '../../lib/testing';
import { codeBlocks, PAGES, ROOT, readPage } from './markdown';

const PACKAGES = ['express', 'supertest', 'openai', 'winston'];

/** A host's folder: this package and what samples import, by their names. */
function hostFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'narwhal-docs-'));
  const modules = join(folder, 'node_modules');
  mkdirSync(modules);
  symlinkSync(ROOT, join(modules, 'express-narwhal'), 'junction');
  for (const name of PACKAGES) {
    symlinkSync(join(ROOT, 'node_modules', name), join(modules, name), 'junction');
  }
  return folder;
}

interface Run {
  readonly child: ChildProcess;
  readonly output: () => string;
  /** Resolves when the output matches, or the process is over. */
  readonly until: (pattern: RegExp) => Promise<string>;
  readonly code: Promise<number | null>;
}

function run(folder: string, text: string, env: NodeJS.ProcessEnv = {}): Run {
  const file = join(folder, 'sample.mjs');
  writeFileSync(file, text);
  const child = spawn(process.execPath, [file], { cwd: folder, env: { ...process.env, ...env } });
  let output = '';
  let check = (): void => {};
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      output += String(chunk);
      check();
    });
  }
  const code = once(child, 'close').then(([status]) => status as number | null);
  const until = (pattern: RegExp): Promise<string> => {
    const seen = new Promise<void>((resolve) => {
      check = () => {
        if (pattern.test(output)) resolve();
      };
      check();
    });
    return Promise.race([seen, code]).then(() => output);
  };
  return { child, output: () => output, until, code };
}

describe('the docs, run', () => {
  let folder: string;
  let fleet: StubFleet;

  beforeAll(async () => {
    folder = hostFolder();
    fleet = await startStubFleet();
  });
  afterAll(async () => {
    await fleet.close();
    rmSync(folder, { recursive: true });
  });

  const marked = PAGES.flatMap((page) =>
    codeBlocks(readPage(page))
      .filter(({ info }) => /^m?js run$/.test(info))
      .map(({ text, line }) => ({ text, name: `${page}:${line}` })),
  );

  test.each(marked)(
    '$name runs to its end',
    async ({ text }) => {
      const sample = run(folder, text);
      expect({ code: await sample.code, output: sample.output() }).toMatchObject({ code: 0 });
    },
    60_000,
  );

  test('the sample of README.md serves a request and ends in order on SIGTERM', async () => {
    const sample = codeBlocks(readPage('README.md')).find(({ info }) => info === 'js');
    expect(sample?.text.trimEnd().split('\n').length).toBeLessThanOrEqual(15);
    const file = join(folder, 'fleet.json');
    writeFileSync(file, JSON.stringify(fleet.fleetFile()));
    const host = run(folder, sample?.text ?? '', {
      PORT: '0',
      NARWHAL_FLEET: file,
      GATEWAY_KEY: 'key-of-acme',
    });
    const port = /port: (\d+)/.exec(await host.until(/port: \d+/))?.[1];
    const response = await fetch(`http://localhost:${port}/v1/completions`, {
      method: 'POST',
      headers: { authorization: 'Bearer key-of-acme' },
      body: JSON.stringify({ prompt: 'hi' }),
    });
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ object: 'text_completion' });
    host.child.kill('SIGTERM');
    expect({ code: await host.code, output: host.output() }).toMatchObject({ code: 0 });
    fleet.assertNoBreaches();
  }, 60_000);
});
