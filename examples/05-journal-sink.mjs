// Journal rows to a place of your own: here, tokens counted for each tenant.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import express from 'express';
import { narwhalRouter } from 'express-narwhal';
import { startStubFleet } from 'express-narwhal/testing';

/** @type {Map<string, { requests: number, refused: number, tokens: number }>} */
const bill = new Map();

/** @type {import('express-narwhal').JournalSink} */
const sink = {
  // Called once for each request, when all of it is over. May be async; what it throws fails no request.
  write(row) {
    const entry = bill.get(row.tenant ?? 'nobody') ?? { requests: 0, refused: 0, tokens: 0 };
    entry.requests += 1;
    if (row.terminal !== 'completed') entry.refused += 1;
    entry.tokens += row.output_len ?? 0;
    bill.set(row.tenant ?? 'nobody', entry);
  },
  // Called by narwhal.close(), after the last row: flush and let go here.
  close() {
    console.log(Object.fromEntries(bill));
  },
};

const fleet = await startStubFleet();
const narwhal = narwhalRouter({
  fleet: fleet.fleetFile(),
  journal: sink,
  apiKeys: { 'key-of-acme': { tenant: 'acme' }, 'key-of-bolt': { tenant: 'bolt' } },
});
const server = express().use(narwhal).listen(0, '127.0.0.1');
await once(server, 'listening');
const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());

for (const key of ['key-of-acme', 'key-of-acme', 'key-of-bolt', 'stolen']) {
  const response = await fetch(`http://127.0.0.1:${port}/v1/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ prompt: 'Say hello', max_tokens: 4 }),
  });
  await response.text();
}

server.close();
await narwhal.close();
await fleet.close();
assert.deepEqual(Object.fromEntries([...bill].map(([tenant, entry]) => [tenant, entry.requests])), {
  acme: 2,
  bolt: 1,
  nobody: 1,
});
assert.equal(bill.get('acme')?.tokens, 8);
assert.equal(bill.get('nobody')?.refused, 1);
