/** Engines taken out and brought back by hand. */
import { StreamClient } from '../integration/stream-client';
import { type Reply, send } from '../testing/client';
import { BODY, CHAT, startGateway, until, type WatchedGateway } from './gateway';

const JSON_TYPE = { 'content-type': 'application/json' };

function act(
  gateway: WatchedGateway,
  path: string,
  headers: Record<string, string> = JSON_TYPE,
): Promise<Reply> {
  return send(`${gateway.url}/narwhal/engines/${path}`, { headers });
}

describe('POST /narwhal/engines/:iid/drain', () => {
  it('takes the engine out of placement; what runs on it goes on', async () => {
    const gateway = await startGateway({ stub: { decode: 2 } });
    gateway.fleet.script = { leg: 'decode', frameDelayMs: 60 };
    const streams = [1, 2].map(() => new StreamClient(gateway.url + CHAT, { ...BODY, stream: true }));
    await Promise.all(streams.map((stream) => stream.sees('Heard')));
    expect(await act(gateway, 'd0/drain')).toMatchObject({
      status: 200,
      text: '{"iid":"d0","state":"drained"}',
    });
    expect(gateway.stateOf('d0')).toMatchObject({ state: 'drained', decodes_in_flight: 1 });
    for (let i = 0; i < 4; i++) expect((await gateway.post(BODY)).status).toBe(200);
    expect(gateway.legs('d0')).toHaveLength(1);
    for (const stream of streams) await stream.sees('[DONE]');
    expect(JSON.parse((await send(`${gateway.url}/health`, { method: 'GET' })).text)).toEqual({
      status: 'degraded',
      instances: 3,
      available_instances: 2,
    });
  });

  it('leaves nobody to serve where it was the last one', async () => {
    const gateway = await startGateway();
    await act(gateway, 'p0/drain');
    const reply = await gateway.post(BODY);
    expect(reply.status).toBe(503);
    expect(reply.headers['x-narwhal-reason']).toBe('no_engine');
    await act(gateway, 'p0/readmit');
    expect((await gateway.post(BODY)).status).toBe(200);
  });

  it.each([
    ['text', { 'content-type': 'text/plain' }],
    ['a form', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['no type', {}],
  ])('needs a JSON content type, so that no web page can send it: %s', async (_name, headers) => {
    const gateway = await startGateway();
    expect((await act(gateway, 'd0/drain', headers as Record<string, string>)).status).toBe(415);
    expect(gateway.stateOf('d0').state).toBe('live');
  });

  it.each(['x-forwarded-for', 'forwarded', 'via', 'x-real-ip'])(
    'is the 404 of the host behind a proxy: %s',
    async (name) => {
      const gateway = await startGateway();
      const reply = await act(gateway, 'd0/drain', { ...JSON_TYPE, [name]: '10.0.0.9' });
      expect(reply.status).toBe(404);
      expect(reply.text).toContain('Cannot POST');
      expect(gateway.stateOf('d0').state).toBe('live');
    },
  );

  it('knows its engines by name', async () => {
    const gateway = await startGateway();
    expect((await act(gateway, 'd9/drain')).status).toBe(404);
    expect((await send(`${gateway.url}/narwhal/engines/d0/drain`, { method: 'GET' })).status).toBe(404);
  });
});

describe('POST /narwhal/engines/:iid/readmit', () => {
  it('brings it back after a health check and one token', async () => {
    const gateway = await startGateway({ stub: { decode: 2 } });
    await act(gateway, 'd0/drain');
    const reply = await act(gateway, 'd0/readmit');
    expect(reply).toMatchObject({ status: 200, text: '{"iid":"d0","state":"live"}' });
    expect(gateway.fleet.engine('d0').calls.map(({ leg }) => leg)).toEqual(['health', 'decode']);
    expect(gateway.router.state().handoffs).toMatchObject({ produced: 1, claimed: 1, held: 0 });
  });

  it('does not where the engine fails either', async () => {
    const gateway = await startGateway({ stub: { decode: 2 } });
    await act(gateway, 'd0/drain');
    gateway.fleet.engine('d0').script = { status: 500 };
    expect((await act(gateway, 'd0/readmit')).status).toBe(409);
    expect(gateway.stateOf('d0').state).toBe('drained');
    // The handoff of the probe went to the other engine.
    expect(gateway.router.state().handoffs).toMatchObject({ produced: 1, reclaimed: 1 });
    await gateway.fleet.engine('d0').stop();
    expect((await act(gateway, 'd0/readmit')).status).toBe(409);
  });

  it('does not where it takes the handoff and then fails: that one is not offered again', async () => {
    const gateway = await startGateway({ stub: { decode: 2 } });
    await act(gateway, 'd0/drain');
    const error = { message: 'Internal server error', code: 500 };
    gateway.fleet.engine('d0').script = { leg: 'decode', errorFrameAfter: { frames: 0, error, done: true } };
    expect((await act(gateway, 'd0/readmit')).status).toBe(409);
    expect(gateway.router.state().handoffs).toMatchObject({ produced: 1, claimed: 1 });
    expect(gateway.reclaims()).toEqual([]);
  });

  it('makes no handoff that nobody could take', async () => {
    const gateway = await startGateway();
    await act(gateway, 'd0/drain');
    await act(gateway, 'p0/drain');
    expect((await act(gateway, 'p0/readmit')).status).toBe(200);
    expect(gateway.fleet.ledger.produced).toBe(0);
    expect((await act(gateway, 'd0/readmit')).status).toBe(200);
    await until(() => gateway.router.state().handoffs.claimed === 1);
  });
});
