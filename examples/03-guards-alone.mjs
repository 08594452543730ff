// Two guards in front of a handler of your own: no fleet, no journal, no other part of the package.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import express from 'express';
import { modelGuard, narwhalContext, samplingGuard } from 'express-narwhal';

const app = express();
app.post(
  '/v1/chat/completions',
  modelGuard({ models: ['example/model'] }),
  samplingGuard(),
  // The guards read the body and left its parsed value in req.body: express.json() is not needed.
  (req, res) => {
    res.json({ model: req.body.model, handledBy: 'the host', id: narwhalContext(req)?.requestId });
  },
);
const server = app.listen(0, '127.0.0.1');
await once(server, 'listening');
const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());

/** @typedef {{ message: string, param: string | null, code: string | null }} Refusal */

/** @param {object} body */
async function ask(body) {
  const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
    method: 'POST',
    body: JSON.stringify(body),
  });
  const answer = /** @type {{ handledBy?: string, id?: string, error?: Refusal }} */ (await response.json());
  console.log(JSON.stringify(body), '->', response.status, answer.error?.message ?? answer.handledBy);
  return { status: response.status, id: response.headers.get('x-request-id'), answer };
}

const good = await ask({ model: 'example/model' });
assert.equal(good.status, 200);
assert.equal(good.answer.id, good.id);

const other = await ask({ model: 'another/model' });
assert.equal(other.status, 404);
assert.equal(other.answer.error?.code, 'model_not_found');

const wide = await ask({ model: 'example/model', n: 3 });
assert.equal(wide.status, 400);
assert.equal(wide.answer.error?.param, 'n');

server.close();
