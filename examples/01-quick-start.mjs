// The whole router in front of a stub fleet: one streamed request, one plain one.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import express from 'express';
import { narwhalRouter } from 'express-narwhal';
import { startStubFleet } from 'express-narwhal/testing';

// In production: narwhalRouter() reads NARWHAL_FLEET, else ./fleet.json (see fleet.example.json).
const fleet = await startStubFleet({ prefill: 2, decode: 2 });
const narwhal = narwhalRouter({ fleet: fleet.fleetFile(), journal: false });

const app = express();
app.use(narwhal);
const server = app.listen(0, '127.0.0.1');
await once(server, 'listening');
const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());

/** @param {boolean} stream */
function ask(stream) {
  return fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: fleet.model, messages: [{ role: 'user', content: 'Say hello' }], stream }),
  });
}

/** @typedef {{ choices: { message: { content: string } }[] }} Completion */
const plain = /** @type {Completion} */ (await (await ask(false)).json());
const answer = plain.choices[0]?.message.content ?? '';
console.log('plain:', answer);
assert.ok(answer.length > 0);

let streamed = '';
const events = (await (await ask(true)).text()).split('\n\n').filter((event) => event !== '');
assert.equal(events.at(-1), 'data: [DONE]');
for (const event of events.slice(0, -1)) {
  streamed += JSON.parse(event.slice('data: '.length)).choices[0].delta.content ?? '';
}
console.log(`streamed: ${streamed} (${events.length} events)`);
assert.equal(streamed, answer);

// Each request was two calls: prefill on one engine, decode on another.
const legs = fleet.calls.map(({ engine, leg }) => `${leg} on ${engine}`);
console.log('legs:', legs.join(', '));
assert.deepEqual(
  fleet.calls.map(({ leg }) => leg),
  ['prefill', 'decode', 'prefill', 'decode'],
);
fleet.assertNoBreaches();

server.close();
await narwhal.close();
await fleet.close();
