/** What a host does to `req.body` behind the first middleware changes nothing that is checked or sent. */
import type { RequestHandler } from 'express';
import {
  createFleet,
  dispatchEngine,
  modelGuard,
  narwhalContext,
  samplingGuard,
  validateCompletion,
} from '../../lib/index';
import { appOf } from '../helpers/alone';
import { COMPLETIONS, call } from '../helpers/call';
import { closeLater } from '../helpers/close-all';
import { openStubFleet } from '../helpers/open-stub-fleet';

type Body = Record<string, unknown>;

/** A host's middleware that works on the object in place. */
const changing =
  (change: (body: Body) => void): RequestHandler =>
  (req, _res, next) => {
    change(req.body as Body);
    change(narwhalContext(req)?.body as Body);
    next();
  };

async function serve(body: object, change: (body: Body) => void, before: RequestHandler[] = []) {
  const stub = await openStubFleet();
  const fleet = createFleet(stub.fleetFile());
  closeLater(fleet);
  const handlers = [
    ...before,
    validateCompletion(),
    changing(change),
    modelGuard({ models: ['example/model'] }),
    samplingGuard(),
    dispatchEngine({ fleet }),
  ];
  const server = closeLater(appOf(handlers as RequestHandler[]).listen(0));
  const { port } = server.address() as { port: number };
  const reply = await call(`http://127.0.0.1:${port}${COMPLETIONS}`, { body: JSON.stringify(body) });
  return { reply, legs: stub.calls.filter(({ leg }) => leg === 'prefill' || leg === 'decode') };
}

const PROMPTS: [string, string][] = [
  ['short', 'hi'],
  ['long', 'x'.repeat(20_000)],
];

describe.each(PROMPTS)('a change to a body that is %s', (_size, prompt) => {
  it.each<[string, (body: Body) => void]>([
    ['another width', (body) => void Object.assign(body, { n: 2 })],
    ['another model', (body) => void Object.assign(body, { model: 'nope' })],
    ['a stream', (body) => void Object.assign(body, { stream: true })],
    ['a list of prompts', (body) => void Object.assign(body, { prompt: ['a', 'b'] })],
    ['no prompt', (body) => void delete body['prompt']],
  ])('is not seen by what follows: %s', async (_what, change) => {
    const { reply, legs } = await serve({ prompt, max_tokens: 3 }, change);
    expect([reply.status, reply.headers['content-type']]).toEqual([200, 'application/json']);
    expect(legs).toHaveLength(2);
    for (const { body } of legs) expect(body.toString()).toContain(`{"prompt":"${prompt}",`);
  });

  it('does not take a fault of the client away', async () => {
    const { reply, legs } = await serve({ prompt, n: 2 }, (body) => void delete body['n']);
    expect([reply.status, reply.headers['x-narwhal-reason']]).toEqual([400, 'sampling_width']);
    expect(legs).toEqual([]);
  });
});
