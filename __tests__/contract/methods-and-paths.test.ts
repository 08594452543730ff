/** Which requests are the router's, and which are the host's. */
import type { RequestHandler } from 'express';
import { bodyFor, CHAT, COMPLETIONS, call, envelopeOf, jsonOf } from '../helpers/call';
import { EXPRESS_VERSIONS, startGateway } from '../helpers/create-app';

/** The host behind the router: tells that it was reached. */
const host: RequestHandler = (req, res) => {
  res.status(299).json({ host: req.method, url: req.originalUrl });
};

describe.each(EXPRESS_VERSIONS)('on Express %s', (_version, express) => {
  const start = (mountPath = '/') => startGateway({ express, after: [host], mountPath });

  describe.each([CHAT, COMPLETIONS])('%s', (path) => {
    it.each(['GET', 'PUT', 'PATCH', 'DELETE', 'PROPFIND'])(
      'answers %s with 405 and Allow',
      async (method) => {
        const gateway = await start();
        const reply = await call(gateway.url + path, { method });
        expect(reply.status).toBe(405);
        expect(reply.headers['allow']).toBe('POST');
        expect(envelopeOf(reply)).toEqual({
          message: 'only POST is allowed here',
          type: 'invalid_request_error',
          param: null,
          code: 'method_not_allowed',
        });
        expect(await gateway.allRows()).toMatchObject([
          { status: 405, terminal: 'invalid', reason: 'method', route: path, stream: null },
        ]);
      },
    );

    it('answers HEAD with 405 and no body', async () => {
      const gateway = await start();
      const reply = await call(gateway.url + path, { method: 'HEAD' });
      expect([reply.status, reply.headers['allow'], reply.text]).toEqual([405, 'POST', '']);
      expect(await gateway.allRows()).toHaveLength(1);
    });

    it('leaves OPTIONS to the host, without a row', async () => {
      const gateway = await start();
      const reply = await call(gateway.url + path, { method: 'OPTIONS' });
      expect([reply.status, jsonOf(reply)['host']]).toEqual([299, 'OPTIONS']);
      expect(reply.headers['x-request-id']).toBeUndefined();
      expect(await gateway.allRows()).toEqual([]);
    });

    it.each(['', '/', '?a=1', '/?a=1&b=%20', '?'])('accepts POST with "%s" behind it', async (tail) => {
      const gateway = await start();
      const reply = await call(gateway.url + path + tail, { body: bodyFor(path) });
      expect(reply.status).toBe(200);
      for (const { query, path: enginePath } of gateway.fleet.calls) {
        expect([enginePath, query]).toEqual([path, '']);
      }
      expect(gateway.fleet.calls).toHaveLength(2);
      expect((await gateway.allRows()).map(({ route }) => route)).toEqual([path]);
    });

    it.each(['/api', '/a/b', '/api/'])('serves under the mount path %s', async (mount) => {
      const gateway = await start(mount);
      const url = `${gateway.url}${mount.replace(/\/$/, '')}${path}`;
      expect((await call(url, { body: bodyFor(path) })).status).toBe(200);
      expect((await call(url, { method: 'GET' })).status).toBe(405);
      expect((await call(gateway.url + path, { body: bodyFor(path) })).status).toBe(299);
      expect(gateway.fleet.calls.map((engineCall) => engineCall.path)).toEqual([path, path]);
      expect(await gateway.allRows()).toHaveLength(2);
    });
  });

  it.each([
    ['POST', '/v1/embeddings'],
    ['POST', '/'],
    ['POST', '/v1/completions/extra'],
    ['POST', '/v1/completions//'],
    ['POST', '//v1/completions'],
    ['POST', '/V1/completions'],
    ['POST', '/v1/chat'],
    ['POST', '/v1/models'],
    ['GET', '/v1'],
    ['GET', '/v1/models/extra'],
    ['DELETE', '/health'],
    ['GET', '/narwhal/other'],
  ])('leaves %s %s to the host, untouched and without a row', async (method, path) => {
    const gateway = await start();
    const reply = await call(gateway.url + path, { method, ...(method === 'POST' && { body: '{}' }) });
    expect([reply.status, jsonOf(reply)]).toEqual([299, { host: method, url: path }]);
    expect(reply.headers['x-request-id']).toBeUndefined();
    expect(gateway.fleet.calls).toEqual([]);
    expect(await gateway.allRows()).toEqual([]);
  });

  it('answers 404 of the host for an unknown path where the host has nothing', async () => {
    const gateway = await startGateway({ express });
    expect((await call(`${gateway.url}/v1/embeddings`)).status).toBe(404);
  });

  it('answers the open pages to GET and HEAD', async () => {
    const gateway = await start();
    for (const path of ['/health', '/ready', '/v1/models', '/v1/models/', '/health?x=1']) {
      const reply = await call(gateway.url + path, { method: 'GET' });
      expect([path, reply.status]).toEqual([path, 200]);
      const head = await call(gateway.url + path, { method: 'HEAD' });
      expect([head.status, head.text]).toEqual([200, '']);
    }
    expect(await gateway.allRows()).toEqual([]);
  });
});

describe('a method that is not allowed', () => {
  it('is refused before the key is asked for', async () => {
    const gateway = await startGateway({ router: { apiKeys: ['k'] } });
    expect((await call(gateway.url + CHAT, { method: 'GET' })).status).toBe(405);
    expect((await call(gateway.url + CHAT, { body: '{}' })).status).toBe(401);
  });
});
