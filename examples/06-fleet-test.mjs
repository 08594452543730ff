// How a host tests its whole pipeline in its own CI: stub engines, failures on demand, the journal's rows.
import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import express from 'express';
import { narwhalRouter } from 'express-narwhal';
import { startStubFleet } from 'express-narwhal/testing';
import request from 'supertest';

const quiet = { debug() {}, info() {}, warn() {}, error() {} };
const BODY = { messages: [{ role: 'user', content: 'Say hello' }], stream: true };

/** @type {Awaited<ReturnType<typeof startStubFleet>>} */
let fleet;
/** @type {ReturnType<typeof narwhalRouter>} */
let narwhal;
/** @type {import('express-narwhal').JournalRow[]} */
let rows;

beforeEach(async () => {
  rows = [];
  fleet = await startStubFleet({ prefill: 1, decode: 2 });
  const journal = { write: (/** @type {typeof rows[0]} */ row) => rows.push(row), close() {} };
  narwhal = narwhalRouter({ fleet: fleet.fleetFile(), journal, logger: quiet });
});
afterEach(async () => {
  await narwhal.close();
  await fleet.close();
  fleet.assertNoBreaches(); // the wire was spoken as a real engine wants it
});

const ask = () => request(express().use(narwhal)).post('/v1/chat/completions').send(BODY);

test('a request is two calls: prefill, then decode', async () => {
  const { text } = await ask();
  assert.match(text, /data: \[DONE\]\n\n$/);
  const legs = fleet.calls.map(({ leg }) => leg);
  assert.deepEqual(legs, ['prefill', 'decode']);
});

test('a decode engine that fails before the first token is replaced unseen', async () => {
  fleet.script = { leg: 'decode', status: 500, times: 1 };
  assert.equal((await ask()).status, 200);
  await narwhal.close(); // every row is written
  assert.equal(rows[0]?.attempts, 2);
});

test('one that dies in mid-stream ends the answer with an error frame, never with [DONE]', async () => {
  fleet.script = { leg: 'decode', resetAfterFrames: 3 };
  const { text } = await ask();
  assert.match(text, /data: \{"error":\{[^\n]*"code":"failed"\}\}\n\n$/);
  await narwhal.close();
  assert.equal(`${rows[0]?.terminal} ${rows[0]?.reason}`, 'failed engine_connection');
});
