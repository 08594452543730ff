/** Who may see /metrics and /narwhal/state. */
import type { Request, Response } from 'express';
import { ConfigError, type NarwhalRouterOptions, narwhalRouter } from '../../lib/index';
import { thrownBy } from '../helpers/alone';
import { call } from '../helpers/call';
import { EXPRESS_VERSIONS, type GatewayOptions, startGateway } from '../helpers/create-app';

const PAGES = ['/metrics', '/narwhal/state'] as const;
const FORWARDED = { 'x-forwarded-for': '203.0.113.7' };

/** A gateway whose host answers 418 to whatever is not ours. */
function start(inspection: NarwhalRouterOptions['inspection'], more: GatewayOptions = {}) {
  return startGateway({
    router: { inspection },
    after: [(_req: Request, res: Response) => void res.status(418).end()],
    ...more,
  });
}

async function statusOf(url: string, page: string, headers: Record<string, string> = {}, method = 'GET') {
  return (await call(url + page, { method, headers })).status;
}

describe.each(PAGES)('%s', (page) => {
  it('is for this machine only, and for no connection that a proxy has passed on', async () => {
    const { url } = await start(undefined);
    expect(await statusOf(url, page)).toBe(200);
    for (const name of ['x-forwarded-for', 'forwarded', 'via', 'x-real-ip', 'x-forwarded-host']) {
      expect([name, await statusOf(url, page, { [name]: '203.0.113.7' })]).toEqual([name, 418]);
    }
  });

  it('is public where the option names it, and only that page is', async () => {
    const name = page === '/metrics' ? 'metrics' : 'state';
    const { url } = await start({ public: [name] });
    for (const other of PAGES) {
      expect(await statusOf(url, other, FORWARDED)).toBe(other === page ? 200 : 418);
    }
  });

  it('is for whom the guard says, whatever the connection is', async () => {
    const { url } = await start({ guard: ({ headers }) => headers['x-scraper'] === 'yes' });
    expect(await statusOf(url, page)).toBe(418);
    expect(await statusOf(url, page, { ...FORWARDED, 'x-scraper': 'yes' })).toBe(200);
  });

  it('is for nobody where the guard answers with a promise', async () => {
    const promise = await start({ guard: (() => Promise.resolve(true)) as never });
    expect(await statusOf(promise.url, page)).toBe(418);
  });

  it('is for nobody where the guard throws, which is logged and no word of it told', async () => {
    const guard = (): boolean => {
      throw new Error('GUARD');
    };
    const { url, logger } = await start({ guard, page: true });
    for (const path of [page, '/narwhal/']) {
      const reply = await call(url + path, { method: 'GET' });
      expect([reply.status, reply.headers['x-narwhal-reason']]).toEqual([500, 'internal']);
      expect(reply.text).not.toContain('GUARD');
    }
    expect(logger.lines.filter(({ message }) => message === 'an inspection route failed')).toHaveLength(2);
    expect(logger.text).toContain('GUARD');
  });

  it('is for nobody with inspection false', async () => {
    const { url } = await start(false);
    expect(await statusOf(url, page)).toBe(418);
    expect(await statusOf(url, '/health')).toBe(200);
  });

  it('answers HEAD without a body, and leaves other methods to the host', async () => {
    const { url } = await start(undefined);
    const head = await call(url + page, { method: 'HEAD' });
    expect([head.status, head.text]).toEqual([200, '']);
    expect(Number(head.headers['content-length'])).toBeGreaterThan(100);
    expect(await statusOf(url, page, {}, 'POST')).toBe(418);
    expect(await statusOf(url, page, {}, 'DELETE')).toBe(418);
  });

  it.each(EXPRESS_VERSIONS)('stands below the mount path in Express %s', async (_version, express) => {
    const { url } = await start(undefined, { mountPath: '/llm', express });
    expect(await statusOf(url, `/llm${page}`)).toBe(200);
    expect(await statusOf(url, `/llm${page}/`)).toBe(200);
    expect(await statusOf(url, page)).toBe(418);
  });
});

it('serves /metrics in the type of Prometheus, never from a cache', async () => {
  const { url } = await start(undefined);
  const { headers, text } = await call(`${url}/metrics`, { method: 'GET' });
  expect(headers).toMatchObject({
    'content-type': 'text/plain; version=0.0.4; charset=utf-8',
    'cache-control': 'no-store',
  });
  expect(text).toMatch(/^# HELP narwhal_/);
});

it('shows no address of an engine and no key', async () => {
  process.env['NARWHAL_TEST_ENGINE_KEY'] = 'engine-key-canary';
  const { url, fleet } = await start(undefined, {
    fleetFile: { engine: { engine_api_key_env: 'NARWHAL_TEST_ENGINE_KEY' } },
  });
  for (const page of PAGES) {
    const { text } = await call(url + page, { method: 'GET' });
    expect(text).not.toContain('engine-key-canary');
    for (const engine of fleet.engines) expect(text).not.toContain(new URL(engine.url).host);
  }
  delete process.env['NARWHAL_TEST_ENGINE_KEY'];
});

it('refuses a page that may not be public', () => {
  const fleet = { model: 'm', engines: [{ iid: 'b0', url: 'http://127.0.0.1:9', role: 'both' }] };
  const make = () => narwhalRouter({ fleet, journal: false, inspection: { public: ['engines'] as never } });
  const error = thrownBy(make);
  expect(error).toBeInstanceOf(ConfigError);
  expect(error?.message).toBe('inspection: public may list metrics, state');
});
