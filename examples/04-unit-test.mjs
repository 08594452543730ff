// How a host tests one middleware in its own CI: node:test and supertest, no fleet, no open port.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import express from 'express';
import { validateCompletion } from 'express-narwhal';
import request from 'supertest';

const PATH = '/v1/chat/completions';

/** @param {Parameters<typeof validateCompletion>[0]} [options] */
function appWith(options) {
  const app = express();
  app.post(PATH, validateCompletion(options), (req, res) => {
    res.json({ passed: req.body });
  });
  return app;
}

test('a good request passes, with its body parsed', async () => {
  const body = { messages: [{ role: 'user', content: 'hi' }], max_tokens: 16 };
  const response = await request(appWith()).post(PATH).send(body);
  assert.equal(response.status, 200);
  assert.deepEqual(response.body, { passed: body });
});

test('a field of the wrong type is a 400 that names it', async () => {
  const response = await request(appWith()).post(PATH).send({ messages: [], max_tokens: 'many' });
  assert.equal(response.status, 400);
  assert.deepEqual(response.body.error, {
    message: 'max_tokens must be an integer',
    type: 'invalid_request_error',
    param: 'max_tokens',
    code: null,
  });
});

test('our own limit of the body holds', async () => {
  const body = { messages: [{ role: 'user', content: 'x'.repeat(2000) }] };
  const response = await request(appWith({ maxBytes: 1000 }))
    .post(PATH)
    .send(body);
  assert.equal(response.status, 413);
});

test('a misspelt option is an error when the gateway starts, not when a client calls', () => {
  const misspelt = /** @type {object} */ ({ maxByte: 1000 });
  assert.throws(() => validateCompletion(misspelt), /did you mean maxBytes/);
});
