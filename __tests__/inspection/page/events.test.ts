/** The events of the fleet page: what they tell, how many may watch, and how they end. */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import compression from 'compression';
import { MAX_VIEWERS, Viewers } from '../../../lib/inspection/page/viewers';
import { bodyFor, CHAT, COMPLETIONS, call } from '../../helpers/call';
import { closeLater } from '../../helpers/close-all';
import { type GatewayOptions, startGateway } from '../../helpers/create-app';
import { watch } from './watcher';

function start(more: GatewayOptions = {}) {
  return startGateway({ ...more, router: { inspection: { page: true }, ...more.router } });
}

describe('a frame', () => {
  it('tells of an idle gateway', async () => {
    const { url, fleet } = await start({ stub: { prefill: 1, decode: 2 } });
    const { res, until } = await watch(url);
    expect(res.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
      'x-content-type-options': 'nosniff',
    });
    const frame = await until(() => true);
    expect(frame).toMatchObject({
      model: fleet.model,
      status: 'serving',
      shape: 'split',
      in_flight: 0,
      queued: 0,
      seats: 512,
      first_byte: null,
      refusals: [],
      failures: [],
    });
    expect(frame.bins).toHaveLength(60);
    expect(frame.engines.map(({ iid, role, state }) => [iid, role, state])).toEqual([
      ['p0', 'prefill', 'live'],
      ['d0', 'decode', 'live'],
      ['d1', 'decode', 'live'],
    ]);
  });

  it('counts completed, refused, failed and cancelled requests', async () => {
    const { url, fleet, journal } = await start({ fleetFile: { serving: { max_attempts: 1 } } });
    const { until } = await watch(url);
    const post = (path: string, members = {}) => call(url + path, { body: bodyFor(path, members) });
    await post(CHAT, { max_tokens: 4 });
    await post(CHAT, { n: 2 });
    await post(COMPLETIONS, { model: 'other' });
    fleet.engine('d0').script = { status: 500, times: 1 };
    await post(COMPLETIONS);
    fleet.engine('d0').script = { leg: 'decode', hangAfterFrames: 3 };
    const leaving = new AbortController();
    const left = call(url + CHAT, {
      body: bodyFor(CHAT, { stream: true }),
      signal: leaving.signal,
      onPiece: () => leaving.abort(),
    });
    await expect(left).rejects.toThrow();
    const rows = await journal.waitForRows(5);
    const frame = await until(({ total }) => total.cancelled + total.failed === 2);
    expect(frame.recent).toEqual({ completed: 1, refused: 2, failed: 1, cancelled: 1 });
    expect(frame.total).toEqual(frame.recent);
    expect(frame.refusals).toEqual([
      { terminal: 'invalid', reason: 'model', recent: 1, total: 1 },
      { terminal: 'invalid', reason: 'sampling_width', recent: 1, total: 1 },
    ]);
    const failed = rows.find(({ terminal }) => terminal === 'failed');
    expect(frame.failures).toEqual([
      {
        rid: failed?.rid,
        route: COMPLETIONS,
        terminal: 'failed',
        reason: 'engine_error',
        status: 502,
        attempts: 1,
        engines: ['p0', 'd0'],
        at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/) as string,
        age_s: expect.any(Number) as number,
      },
    ]);
    expect(frame.first_byte?.[0]).toBeGreaterThan(0);
  });

  it('shows no prompt, no key, no address of an engine, no tenant and no mount path', async () => {
    process.env['NARWHAL_TEST_ENGINE_KEY'] = 'engine-key-canary';
    const { url, fleet } = await start({
      mountPath: '/mount-canary',
      stub: { apiKey: 'engine-key-canary' },
      fleetFile: { engine: { engine_api_key_env: 'NARWHAL_TEST_ENGINE_KEY' } },
      router: { apiKeys: { 'client-key-canary': { tenant: 'tenant-canary' } }, inspection: { page: true } },
    });
    delete process.env['NARWHAL_TEST_ENGINE_KEY'];
    fleet.engine('d0').script = { leg: 'decode', resetAfterFrames: 1 };
    await call(`${url}/mount-canary${CHAT}`, {
      headers: { authorization: 'Bearer client-key-canary', 'x-request-id': 'id-canary' },
      body: bodyFor(CHAT, { messages: [{ role: 'user', content: 'prompt-canary' }] }),
    });
    const { until } = await watch(`${url}/mount-canary`);
    const frame = await until(({ failures }) => failures.length === 1);
    const text = JSON.stringify(frame);
    expect(text).toContain(CHAT);
    expect(text).not.toContain('canary');
    for (const engine of fleet.engines) expect(text).not.toContain(new URL(engine.url).host);
  });

  it('tells of the engines that are out: ejected, draining, drained', async () => {
    const { url, fleet } = await start({
      stub: { prefill: 1, decode: 3 },
      fleetFile: { recovery: { eject_after: 1, failure_quarantine_s: 60 } },
    });
    const { until } = await watch(url);
    const states = () =>
      until(({ engines }) => engines.filter(({ state }) => state !== 'live').length === 3).then(
        ({ engines }) => Object.fromEntries(engines.map(({ iid, state }) => [iid, state])),
      );
    fleet.engine('d0').script = { leg: 'decode', status: 500 };
    for (let i = 0; i < 3; i++) await call(url + CHAT, { body: bodyFor(CHAT) });
    fleet.script = { leg: 'decode', hangAfterFrames: 1 };
    const leaving = new AbortController();
    const running = call(url + CHAT, { body: bodyFor(CHAT, { stream: true }), signal: leaving.signal });
    const gone = expect(running).rejects.toThrow();
    const busy = await until(({ engines }) => engines.some(({ decodes }) => decodes === 1));
    for (const iid of ['d1', 'd2']) await call(`${url}/narwhal/engines/${iid}/drain`, { body: {} });
    const worker = busy.engines.find(({ decodes }) => decodes === 1)?.iid ?? '';
    const idle = worker === 'd1' ? 'd2' : 'd1';
    expect(await states()).toEqual({ p0: 'live', d0: 'ejected', [worker]: 'draining', [idle]: 'drained' });
    const frame = await until(() => true);
    expect(frame.shape).toBe('none');
    expect(frame.engines[1]).toMatchObject({ suspicion: 'inference_status', ejections: 1, failures: 1 });
    expect(frame.engines[1]?.quarantine_s).toBeGreaterThan(0);
    leaving.abort();
    await gone;
    await until(({ engines }) => engines.every(({ state }) => state !== 'draining'));
  });

  it('comes at once through a host that compresses', async () => {
    const { url } = await start({ before: [compression({ threshold: 0 })] });
    const { res, until } = await watch(url, { 'accept-encoding': 'gzip' });
    await until(() => true);
    expect(res.headers).not.toHaveProperty('content-encoding');
  });
});

describe('watching', () => {
  it('counts as no request, and writes no row', async () => {
    const { url, router, allRows } = await start();
    await (await watch(url)).until(() => true);
    await call(`${url}/narwhal/`, { method: 'GET' });
    expect(router.state().in_flight).toBe(0);
    expect(await allRows()).toEqual([]);
  });

  it('is for so many at a time, and a place that comes free can be taken', async () => {
    const { url } = await start();
    const watchers = await Promise.all(Array.from({ length: MAX_VIEWERS }, () => watch(url)));
    const events = `${url}/narwhal/events`;
    const refused = await call(events, { method: 'GET' });
    expect([refused.status, refused.headers['content-type']]).toEqual([503, 'text/plain; charset=utf-8']);
    expect(refused.text).toBe(`${MAX_VIEWERS} people watch already, and no more can. Try again later.\n`);
    watchers[0]?.leave();
    // The gateway hears of it when the socket closes.
    while ((await call(events, { method: 'HEAD' })).status !== 200);
    await (await watch(url)).until(() => true);
  });

  it('ends at once when the router closes, also while requests still run', async () => {
    const { url, fleet, router } = await start({ router: { closeTimeoutS: 60, inspection: { page: true } } });
    fleet.script = { leg: 'decode', hangAfterFrames: 1 };
    const leaving = new AbortController();
    const running = call(url + CHAT, { body: bodyFor(CHAT, { stream: true }), signal: leaving.signal });
    const gone = expect(running).rejects.toThrow();
    const { ended, until, res } = await watch(url);
    await until(({ in_flight }) => in_flight === 1);
    const closed = router.close();
    await ended;
    expect(res.complete).toBe(true);
    expect(router.state().in_flight).toBe(1);
    const late = await call(`${url}/narwhal/events`, { method: 'GET' });
    expect([late.status, late.text]).toEqual([503, 'The gateway is shutting down.\n']);
    leaving.abort();
    await gone;
    await closed;
  });

  it('does not hold up the end of the server', async () => {
    const { url, server, router } = await start();
    await (await watch(url)).until(() => true);
    const ended = new Promise<void>((resolve) => server.close(() => resolve()));
    await router.close();
    await ended;
    expect(server.listening).toBe(false);
  });

  it('goes on, and the request does, when the journal of the host throws', async () => {
    const sink = {
      write: () => undefined,
      close: () => undefined,
      get lost(): number {
        throw new Error('no count');
      },
    };
    const { url, logger } = await start({ router: { journal: sink, inspection: { page: true } } });
    await watch(url);
    expect((await call(url + CHAT, { body: bodyFor(CHAT) })).status).toBe(200);
    expect(logger.lines.filter(({ level }) => level === 'warn')).toHaveLength(1);
  });
});

describe('a viewer that does not read', () => {
  /** Far more than the sockets of both sides hold. */
  const FRAME = 'x'.repeat(16 << 20);

  async function stuckViewer(everyMs: number) {
    let made = 0;
    let look = (): void => {};
    const viewers = new Viewers(() => {
      made++;
      look();
      return FRAME;
    }, everyMs);
    const responses: ServerResponse[] = [];
    const server = closeLater(
      createServer((req, res) => {
        responses.push(res);
        viewers.add(req, res);
      }),
    );
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    closeLater({ close: () => socket.destroy() });
    closeLater(viewers);
    socket.on('error', () => undefined);
    socket.pause();
    socket.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n');
    const untilMade = (count: number) =>
      new Promise<void>((resolve) => {
        look = () => {
          if (made >= count) resolve();
        };
      });
    return { viewers, responses, untilMade };
  }

  it('is left out, and nothing piles up for it', async () => {
    const { responses, untilMade, viewers } = await stuckViewer(20);
    await untilMade(8);
    expect(viewers.count).toBe(1);
    expect(responses[0]?.writableLength).toBeLessThan(FRAME.length + 1000);
  });

  it('loses its place in the end, and the timer ends with the last one', async () => {
    const { responses, untilMade, viewers } = await stuckViewer(5);
    await untilMade(1);
    const [res] = responses;
    await new Promise((resolve) => res?.once('close', resolve));
    expect(viewers.count).toBe(0);
  });

  it('does not hold up the end', async () => {
    const { responses, untilMade, viewers } = await stuckViewer(20);
    await untilMade(3);
    viewers.close();
    const [res] = responses;
    if (res?.closed !== true) await new Promise((resolve) => res?.once('close', resolve));
    expect(viewers.count).toBe(0);
  });
});
