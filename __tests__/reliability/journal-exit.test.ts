/** Rows on file when the host leaves by `process.exit` as soon as `close()` has come back. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { closeLater } from '../helpers/close-all';
import { startChild } from './child';

/** A host in its own process: `requests` to a gateway over a stub fleet, then `close()` and `process.exit`. */
const HOST = (path: string, requests: number): string => `
  const express = require('express');
  const http = require('node:http');
  const { narwhalRouter } = require('express-narwhal');
  const { startStubFleet } = require('express-narwhal/testing');
  const logger = { debug() {}, info() {}, warn() {}, error() {} };
  (async () => {
    const fleet = await startStubFleet();
    const router = narwhalRouter({ fleet: fleet.fleetFile(), journal: ${JSON.stringify(path)}, logger });
    const server = http.createServer(express().use(router));
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address();
    const agent = new http.Agent({ keepAlive: true, maxSockets: 20 });
    const post = (n) => new Promise((resolve) => {
      const req = http.request({ port, host: '127.0.0.1', agent, method: 'POST', path: '/v1/completions' }, (res) => {
        res.resume().on('end', resolve);
      });
      req.end(JSON.stringify({ prompt: 'p' + n, max_tokens: 2 }));
    });
    await Promise.all(Array.from({ length: ${requests} }, (_, n) => post(n)));
    router.close().then(() => process.exit(7));
  })();`;

it('the journal of a gateway has every row, whole, when process.exit follows close()', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'narwhal-exit-'));
  closeLater({ close: () => rmSync(folder, { recursive: true, force: true }) });
  const path = join(folder, 'journal.jsonl');
  expect(await startChild(HOST(path, 1000)).exit()).toEqual([7, null]);
  const text = readFileSync(path, 'utf8');
  expect(text.endsWith('}\n')).toBe(true);
  const [meta, ...rows] = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { meta?: object; rid?: string; terminal?: string });
  expect(meta).toHaveProperty('meta');
  expect(rows).toHaveLength(1000);
  expect(new Set(rows.map(({ rid }) => rid)).size).toBe(1000);
  expect(rows.every(({ terminal }) => terminal === 'completed')).toBe(true);
}, 90_000);

it('a host that has closed gateway and server ends by itself', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'narwhal-exit-'));
  closeLater({ close: () => rmSync(folder, { recursive: true, force: true }) });
  const script = HOST(join(folder, 'journal.jsonl'), 5).replace(
    'process.exit(7)',
    '{ agent.destroy(); server.close(); return fleet.close(); }',
  );
  const child = startChild(`process.disconnect(); ${script}`);
  expect(await child.exit()).toEqual([0, null]);
});
