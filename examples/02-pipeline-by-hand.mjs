// The pipeline from its parts: take this where the order, or a part, must be your own.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import express from 'express';
import * as narwhal from 'express-narwhal';
import { startStubFleet } from 'express-narwhal/testing';

const stub = await startStubFleet();
const folder = await mkdtemp(join(tmpdir(), 'narwhal-'));
const path = join(folder, 'journal.jsonl');
const fleet = narwhal.createFleet(stub.fleetFile());
const journal = narwhal.createJournal({ path, maxBytes: 64 * 1024 * 1024, maxFiles: 3 });

const app = express();
app.post('/v1/chat/completions', [
  narwhal.journalRecord({ journal }), // first: it sees whatever comes after it
  narwhal.authStrip({ apiKeys: { 'key-of-acme': { tenant: 'acme' } } }),
  narwhal.validateCompletion(),
  narwhal.outputGuard(),
  narwhal.modelGuard({ models: [stub.model] }),
  narwhal.samplingGuard(),
  narwhal.admissionGate({ maxConnections: 100 }),
  narwhal.dispatchEngine({ fleet }),
]);
app.use(narwhal.narwhalErrorHandler());
const server = app.listen(0, '127.0.0.1');
await once(server, 'listening');
const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());

/** @param {string} key @param {object} [more] */
async function ask(key, more) {
  const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ messages: [{ role: 'user', content: 'Say hello' }], ...more }),
  });
  await response.text();
  return response.status;
}

assert.equal(await ask('key-of-acme'), 200);
assert.equal(await ask('wrong key'), 401);
assert.equal(await ask('key-of-acme', { n: 2 }), 400);

server.close();
await once(server, 'close');
await journal.close();
await fleet.close();
await stub.close();
const rows = (await readFile(path, 'utf8')).trim().split('\n').slice(1);
const ends = rows
  .map((row) => JSON.parse(row))
  .map((row) => `${row.status} ${row.terminal} for ${row.tenant}`);
console.log(ends.join('\n'));
assert.deepEqual(ends, ['200 completed for acme', '401 rejected for null', '400 invalid for acme']);
await rm(folder, { recursive: true });
