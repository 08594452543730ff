/** The fleet page over HTTP: who gets it, where it stands, and under which headers. */
import type { Request, RequestHandler, Response } from 'express';
import { ConfigError, type NarwhalRouterOptions, narwhalRouter } from '../../../lib/index';
import { thrownBy } from '../../helpers/alone';
import { call } from '../../helpers/call';
import { EXPRESS_VERSIONS, type GatewayOptions, startGateway } from '../../helpers/create-app';

const PATHS = ['/narwhal', '/narwhal/', '/narwhal/events'] as const;

/** A gateway whose host answers 418 to whatever is not ours. */
function start(inspection: NarwhalRouterOptions['inspection'], more: GatewayOptions = {}) {
  return startGateway({
    router: { inspection },
    after: [(_req: Request, res: Response) => void res.status(418).end()],
    ...more,
  });
}

function get(url: string, headers: Record<string, string> = {}) {
  return call(url, { method: 'GET', headers });
}

/** HEAD, because the events would not end. */
async function statusOf(url: string, headers: Record<string, string> = {}, method = 'HEAD') {
  return (await call(url, { method, headers })).status;
}

describe('the fleet page', () => {
  it.each([undefined, {}, { page: false }, { page: undefined }, false] as const)(
    'is not there with inspection %j',
    async (inspection) => {
      const { url } = await start(inspection);
      for (const path of PATHS) expect([path, await statusOf(url + path)]).toEqual([path, 418]);
    },
  );

  it('is for this machine only, where no guard says otherwise', async () => {
    const { url } = await start({ page: true });
    const wanted = { '/narwhal': 302, '/narwhal/': 200, '/narwhal/events': 200 };
    for (const path of PATHS) {
      expect([path, await statusOf(url + path)]).toEqual([path, wanted[path]]);
      expect(await statusOf(url + path, { 'x-forwarded-for': '203.0.113.7' })).toBe(418);
      expect(await statusOf(url + path, { 'sec-fetch-site': 'cross-site' })).toBe(418);
      expect(await statusOf(url + path, { host: 'rebound.example' })).toBe(418);
    }
  });

  it('is for whom the guard lets in, and does not become public with the state', async () => {
    const { url } = await start({
      page: true,
      public: ['state', 'metrics'],
      guard: ({ headers }) => headers['x-operator'] === 'yes',
    });
    for (const path of PATHS) {
      expect(await statusOf(url + path)).toBe(418);
      expect(await statusOf(url + path, { 'x-operator': 'yes' })).toBeLessThan(400);
    }
  });

  it('leaves other methods and paths to the host', async () => {
    const { url } = await start({ page: true });
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
      for (const path of PATHS) expect(await statusOf(url + path, {}, method)).toBe(418);
    }
    for (const path of ['/narwhals', '/narwhal/page.js', '/narwhal/events/all', '/Narwhal/']) {
      expect([path, await statusOf(url + path)]).toEqual([path, 418]);
    }
  });

  it('may not be made public, and the option is true or false', () => {
    const fleet = { model: 'm', engines: [{ iid: 'b0', url: 'http://127.0.0.1:9', role: 'both' }] };
    const make = (inspection: object) => () =>
      narwhalRouter({ fleet, journal: false, inspection: inspection as NarwhalRouterOptions['inspection'] });
    const messageOf = (inspection: object) => {
      const error = thrownBy(make(inspection));
      expect(error).toBeInstanceOf(ConfigError);
      return error?.message;
    };
    expect(messageOf({ public: ['page'] })).toBe('inspection: public may list metrics, state');
    expect(messageOf({ page: 'yes' })).toBe('inspection: page must be true or false');
    expect(messageOf({ pages: true })).toBe('inspection: unknown option pages (did you mean page?)');
  });

  it.each(EXPRESS_VERSIONS)('stands below the mount path in Express %s', async (_version, express) => {
    const { url } = await start({ page: true }, { mountPath: '/api', express });
    const redirect = await get(`${url}/api/narwhal?x=1`);
    expect(redirect.status).toBe(302);
    // Relative: behind a proxy that takes a prefix away it is right as well.
    expect(redirect.headers.location).toBe('narwhal/');
    const page = await get(`${url}/api/narwhal/?x=1`);
    expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    expect(await statusOf(`${url}/api/narwhal/events`)).toBe(200);
    expect(await statusOf(`${url}/narwhal/`)).toBe(418);
  });

  it('answers HEAD with the headers alone', async () => {
    const { url } = await start({ page: true });
    const whole = await get(`${url}/narwhal/`);
    const head = await call(`${url}/narwhal/`, { method: 'HEAD' });
    expect([head.status, head.text]).toEqual([200, '']);
    expect(head.headers['content-length']).toBe(String(whole.text.length));
  });
});

describe('the headers of the fleet page', () => {
  const hostile: RequestHandler = (_req, res, next) => {
    res.setHeader('content-security-policy', "default-src *; script-src 'unsafe-inline'");
    res.setHeader('content-security-policy-report-only', "default-src 'none'; report-uri https://a.example");
    res.setHeader('referrer-policy', 'unsafe-url');
    res.setHeader('cache-control', 'public, max-age=600');
    next();
  };

  it.each(PATHS)('are strict at %s, whatever the host has set before', async (path) => {
    const { url } = await start({ page: true }, { before: [hostile] });
    const { headers } = await call(url + path, { method: 'HEAD' });
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
    });
    expect(headers).not.toHaveProperty('content-security-policy-report-only');
    const policy = String(headers['content-security-policy']).split('; ');
    expect(policy).toEqual([
      "default-src 'none'",
      expect.stringMatching(/^style-src 'sha256-[\w+/]{43}='$/),
      expect.stringMatching(/^script-src( 'sha256-[\w+/]{43}=')+$/),
      "connect-src 'self'",
      'img-src data:',
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ]);
  });

  it('leave the headers of other routes as the host has set them', async () => {
    const { url } = await start({ page: true }, { before: [hostile] });
    const { headers } = await get(`${url}/narwhal/state`);
    expect(headers['content-security-policy']).toContain('default-src *');
  });
});

describe('the document', () => {
  it('is whole: it asks for nothing but its events, and holds no data', async () => {
    const { url, fleet } = await start({ page: true });
    const { text } = await get(`${url}/narwhal/`);
    expect([...text.matchAll(/fetch\('([^']*)'/g)].map(([, path]) => path)).toEqual(['events']);
    expect(text).not.toMatch(/ src=|@import|url\(|<link rel="(?!icon)|<!-- (style|scripts) -->/);
    expect([...text.matchAll(/https?:\/\/[^'" ]+/g)].map(([link]) => link)).toEqual([
      'http://www.w3.org/2000/svg',
      'http://www.w3.org/2000/svg',
    ]);
    expect(text).not.toContain(fleet.model);
  });
});
