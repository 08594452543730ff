/** Blocks marked `run` are run as they stand, and the README's sample serves a request. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type StubFleet, startStubFleet } from '../../lib/testing';
import { codeBlocks, PAGES, readPage } from './markdown';
import { hostFolder, run } from './sample';

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
