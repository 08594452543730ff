import type { RequestHandler } from 'express';
import { type NarwhalHandler, narwhalErrorHandler, narwhalRouter } from '../../lib/index';
import { bodyFor, CHAT, CHAT_BODY, COMPLETIONS, call, envelopeOf, jsonOf } from '../helpers/call';
import { captureJournal } from '../helpers/capture-journal';
import { closeLater } from '../helpers/close-all';
import { EXPRESS_VERSIONS, type ExpressModule, express4, listen, startGateway } from '../helpers/create-app';
import { openStubFleet } from '../helpers/open-stub-fleet';
import { parseSse, textOf } from '../helpers/parse-sse';

/** The library as it is where a host has only Express 4 installed. */
function libraryOnExpress4(): typeof narwhalRouter {
  let found: typeof narwhalRouter | undefined;
  jest.isolateModules(() => {
    jest.doMock('express', () => express4);
    found = jest.requireActual<{ narwhalRouter: typeof narwhalRouter }>('../../lib/index').narwhalRouter;
    jest.dontMock('express');
  });
  return found!;
}

const COMBINATIONS: readonly (readonly [string, ExpressModule, () => typeof narwhalRouter])[] = [
  ...EXPRESS_VERSIONS.map(
    ([version, express]) => [`5 in a host of Express ${version}`, express, () => narwhalRouter] as const,
  ),
  ...EXPRESS_VERSIONS.map(
    ([version, express]) => [`4 in a host of Express ${version}`, express, libraryOnExpress4] as const,
  ),
];

describe.each(COMBINATIONS)('the router of Express %s', (_words, express, library) => {
  it('serves both routes, streamed and not, and refuses in the envelope', async () => {
    const fleet = await openStubFleet();
    const journal = captureJournal();
    const router = closeLater(library()({ fleet: fleet.fleetFile(), journal, apiKeys: ['k'] }));
    const app = express();
    app.use('/llm', router);
    const { url } = await listen(app);
    const headers = { authorization: 'Bearer k' };
    for (const path of [CHAT, COMPLETIONS]) {
      const whole = await call(`${url}/llm${path}?foo=1`, { headers, body: bodyFor(path) });
      expect(whole.status).toBe(200);
      const streamed = await call(`${url}/llm${path}`, { headers, body: bodyFor(path, { stream: true }) });
      const stream = parseSse(streamed.text);
      expect(stream.done).toBe(true);
      expect(textOf(stream)).not.toBe('');
    }
    expect(envelopeOf(await call(`${url}/llm${CHAT}`, { body: CHAT_BODY })).code).toBe('invalid_api_key');
    const models = await call(`${url}/llm/v1/models`, { method: 'GET', headers });
    expect(jsonOf(models)).toMatchObject({ object: 'list', data: [{ id: 'example/model' }] });
    expect((await call(`${url}/llm/v1/models`, { method: 'GET' })).status).toBe(401);
    expect((await call(`${url}/llm/health`, { method: 'GET' })).status).toBe(200);
    await router.close();
    expect(journal.rows).toHaveLength(5);
  });

  it('answers 20 requests without a key and then a good one', async () => {
    const fleet = await openStubFleet();
    const router = closeLater(library()({ fleet: fleet.fleetFile(), journal: false, apiKeys: ['k'] }));
    const app = express();
    app.use(router);
    const { url } = await listen(app);
    for (let n = 0; n < 20; n++) expect((await call(url + CHAT, { body: CHAT_BODY })).status).toBe(401);
    const headers = { authorization: 'Bearer k' };
    expect((await call(url + CHAT, { body: CHAT_BODY, headers })).status).toBe(200);
  });
});

describe.each(EXPRESS_VERSIONS)('a host of Express %s', (_version, express) => {
  it.each<[string, () => never | Promise<never>]>([
    [
      'throws',
      () => {
        throw new Error('HOSTSECRET');
      },
    ],
    ['rejects', () => Promise.reject(new Error('HOSTSECRET'))],
  ])('whose authenticate hook %s gets 500 in the envelope and lives on', async (_words, authenticate) => {
    let broken = true;
    const hook = () => (broken ? authenticate() : { tenant: 'red' });
    const gateway = await startGateway({ express, router: { authenticate: hook } });
    const reply = await call(gateway.url + CHAT, { body: CHAT_BODY });
    expect(reply.status).toBe(500);
    expect(envelopeOf(reply)).toEqual({
      message: 'the gateway failed',
      type: 'internal_error',
      param: null,
      code: null,
    });
    const models = await call(`${gateway.url}/v1/models`, { method: 'GET' });
    expect([models.status, envelopeOf(models).type]).toEqual([500, 'internal_error']);
    expect(reply.text + models.text).not.toContain('HOSTSECRET');
    broken = false;
    expect((await call(gateway.url + CHAT, { body: CHAT_BODY })).status).toBe(200);
    const rows = await gateway.allRows();
    expect(rows.map(({ status, reason }) => [status, reason])).toEqual([
      [500, 'internal'],
      [200, null],
    ]);
  });

  it.each([false, undefined, null])('whose hook answers %s lets nobody in', async (answer) => {
    const gateway = await startGateway({ express, router: { authenticate: (() => answer) as () => null } });
    expect((await call(gateway.url + CHAT, { body: CHAT_BODY })).status).toBe(401);
    expect((await call(`${gateway.url}/v1/models`, { method: 'GET' })).status).toBe(401);
    expect(gateway.fleet.calls).toEqual([]);
  });

  it('may leave dispatch to a handler of its own, whose throw is a row', async () => {
    const own: RequestHandler = (req, res) => {
      if ((req.body as { user?: string }).user === 'bad') throw new Error('HOSTSECRET');
      res.json({ seen: req.body as unknown });
    };
    const gateway = await startGateway({
      express,
      router: { dispatchEngine: false },
      after: [own, narwhalErrorHandler() as never],
    });
    const good = await call(gateway.url + CHAT, { body: CHAT_BODY });
    expect([good.status, jsonOf(good)]).toEqual([200, { seen: CHAT_BODY }]);
    const bad = await call(gateway.url + CHAT, { body: { ...CHAT_BODY, user: 'bad' } });
    expect([bad.status, envelopeOf(bad).type]).toEqual([500, 'internal_error']);
    expect((await call(gateway.url + CHAT, { body: { ...CHAT_BODY, n: 2 } })).status).toBe(400);
    expect(gateway.fleet.calls).toEqual([]);
    const rows = await gateway.allRows();
    expect(rows.map(({ status, terminal }) => [status, terminal])).toEqual([
      [200, 'completed'],
      [500, 'failed'],
      [400, 'invalid'],
    ]);
  });

  it('may throw in an async handler of its own behind ours: the error reaches its own handler', async () => {
    const own: RequestHandler = (_req, _res, next) => {
      // Express 4 drops a rejected promise, so the host passes it on by itself.
      Promise.reject(new Error('late')).catch(next);
    };
    const gateway = await startGateway({ express, after: [own, narwhalErrorHandler() as never] });
    const reply = await call(`${gateway.url}/other`, { body: '{}' });
    expect([reply.status, envelopeOf(reply).type]).toEqual([500, 'internal_error']);
    expect((await call(gateway.url + CHAT, { body: CHAT_BODY })).status).toBe(200);
  });

  it('gets refusals in its own error handler where every part is told so', async () => {
    const onError = 'next' as const;
    const part = { onError };
    const seen: unknown[] = [];
    const keep = (
      error: { reason: string },
      _req: unknown,
      _res: unknown,
      next: (e: unknown) => void,
    ): void => {
      seen.push(error.reason);
      next(error);
    };
    const gateway = await startGateway({
      express,
      router: {
        authStrip: { onError, apiKeys: ['k'] },
        validateCompletion: part,
        outputGuard: part,
        modelGuard: part,
        samplingGuard: part,
        admissionGate: part,
        dispatchEngine: part,
      },
      after: [keep as never, narwhalErrorHandler() as never],
    });
    const headers = { authorization: 'Bearer k' };
    const bad = [{ max_tokens: 'x' }, { audio: {} }, { model: 'x' }, { n: 2 }, { messages: [] }];
    expect((await call(gateway.url + CHAT, { body: CHAT_BODY })).status).toBe(401);
    for (const members of bad) {
      const reply = await call(gateway.url + CHAT, { headers, body: { ...CHAT_BODY, ...members } });
      expect(envelopeOf(reply).type).toBe('invalid_request_error');
    }
    const reasons = [
      'unauthenticated',
      'field_type',
      'output_option',
      'model',
      'sampling_width',
      'required_field',
    ];
    expect(seen).toEqual(reasons);
    expect((await gateway.allRows()).map(({ reason }) => reason)).toEqual(reasons);
  });

  it('may mount the router in a router of its own', async () => {
    const fleet = await openStubFleet();
    const router = closeLater(narwhalRouter({ fleet: fleet.fleetFile(), journal: false }));
    const inner = express.Router();
    inner.use('/b', router as NarwhalHandler as RequestHandler);
    const app = express();
    app.use('/a', inner);
    const { url } = await listen(app);
    expect((await call(`${url}/a/b${CHAT}`, { body: CHAT_BODY })).status).toBe(200);
    expect((await call(`${url}/a${CHAT}`, { body: CHAT_BODY })).status).toBe(404);
  });
});
