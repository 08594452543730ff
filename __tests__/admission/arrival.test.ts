/** The whole request counts from its arrival: uploads are bounded, and a process that is behind takes no more. */
import { type ClientRequest, request } from 'node:http';
import { Saturation } from '../../lib/admission/saturation';
import { CHAT, CHAT_BODY, call, envelopeOf } from '../helpers/call';
import { startGateway } from '../helpers/create-app';
import { until } from '../integration/gateway';

/** An upload that has begun and does not end by itself. */
function upload(url: string, head: string): { req: ClientRequest; status: Promise<number> } {
  const req = request(url, { method: 'POST', agent: false, headers: { 'content-type': 'application/json' } });
  const status = new Promise<number>((resolve) => {
    req.on('response', (res) => {
      res.resume();
      res.on('end', () => resolve(res.statusCode ?? 0));
    });
    req.on('error', () => resolve(0));
  });
  req.write(head);
  return { req, status };
}

describe('an upload', () => {
  it('counts before its body is there', async () => {
    const gateway = await startGateway({ fleetFile: { serving: { max_connections: 1 } } });
    const text = JSON.stringify(CHAT_BODY);
    const first = upload(gateway.url + CHAT, text.slice(0, 10));
    await until(() => gateway.router.state().in_flight === 1);
    const second = await call(gateway.url + CHAT, { body: CHAT_BODY });
    expect([second.status, second.headers['x-narwhal-reason']]).toEqual([429, 'inflight_limit']);
    expect(second.headers['retry-after']).toMatch(/^[1-5]$/);
    // A fault of its own is still told first.
    expect((await call(gateway.url + CHAT, { body: '{' })).status).toBe(400);
    first.req.end(text.slice(10));
    expect(await first.status).toBe(200);
    expect((await call(gateway.url + CHAT, { body: CHAT_BODY })).status).toBe(200);
  });

  it('that is large, or of unknown length, is refused unread where there is no room', async () => {
    const gateway = await startGateway({ fleetFile: { serving: { max_connections: 1 } } });
    const first = upload(gateway.url + CHAT, '{');
    await until(() => gateway.router.state().in_flight === 1);
    const large = await call(gateway.url + CHAT, { body: Buffer.alloc(100_000, 'x') });
    expect([large.status, envelopeOf(large).type]).toEqual([429, 'server_overloaded_error']);
    const chunked = await call(gateway.url + CHAT, { body: [Buffer.from('x'), Buffer.from('y')] });
    expect(chunked.status).toBe(429);
    first.req.destroy();
    await until(() => gateway.router.state().in_flight === 0);
    expect((await call(gateway.url + CHAT, { body: CHAT_BODY })).status).toBe(200);
    const rows = await gateway.allRows();
    expect(rows.map(({ status, reason }) => [status, reason])).toEqual([
      [429, 'inflight_limit'],
      [429, 'inflight_limit'],
      [499, 'client_closed'],
      [200, null],
    ]);
  });

  it('leaves its place when its client leaves, ten times over', async () => {
    const gateway = await startGateway({ fleetFile: { serving: { max_connections: 2 } } });
    for (let n = 0; n < 10; n++) {
      const { req, status } = upload(gateway.url + CHAT, '{');
      await until(() => gateway.router.state().in_flight === 1);
      req.destroy();
      expect(await status).toBe(0);
      await until(() => gateway.router.state().in_flight === 0);
    }
    expect((await call(gateway.url + CHAT, { body: CHAT_BODY })).status).toBe(200);
  });
});

describe('the delay of the event loop', () => {
  it('is too long after two late timers within a second, and not after one', () => {
    const saturation = new Saturation(0.25);
    saturation.note(300, 1000);
    expect(saturation.isHigh).toBe(false);
    saturation.note(0, 1100);
    saturation.note(260, 1900);
    expect([saturation.isHigh, saturation.delayS]).toEqual([true, 0.26]);
    const slow = new Saturation(0.25);
    slow.note(300, 1000);
    slow.note(300, 2100);
    expect(slow.isHigh).toBe(false);
  });

  it('is well again only after a second without half of it: it does not flap', () => {
    const saturation = new Saturation(0.2);
    saturation.note(250, 1000);
    saturation.note(250, 1300);
    for (let now = 1400; now <= 5000; now += 100) saturation.note(now % 500 === 0 ? 150 : 0, now);
    expect(saturation.isHigh).toBe(true);
    for (let now = 5100; now <= 6000; now += 100) saturation.note(90, now);
    expect(saturation.isHigh).toBe(true);
    saturation.note(0, 6100);
    expect(saturation.isHigh).toBe(false);
  });

  it('is watched only while somebody is inside', () => {
    const saturation = new Saturation(0.2);
    const leave = saturation.enter();
    saturation.note(300, 1000);
    saturation.note(300, 1001);
    expect(saturation.isHigh).toBe(true);
    leave();
    leave();
    expect([saturation.isHigh, saturation.delayS]).toEqual([false, 0]);
  });

  it('that is too long gives new work 429, while a running stream goes on to its end', async () => {
    const gateway = await startGateway({
      stub: {
        tokenDelayMs: 20,
        generate: () => ({ content: new Array(30).fill(' w') }),
      },
      fleetFile: { slo: { ttft_s: 0.2 } },
    });
    let flowing: () => void = () => undefined;
    const begun = new Promise<void>((resolve) => {
      flowing = resolve;
    });
    const stream = call(gateway.url + CHAT, {
      body: { ...CHAT_BODY, stream: true },
      onPiece: () => flowing(),
    });
    await begun;
    let blocks = 0;
    const block = setInterval(() => {
      const end = performance.now() + 120;
      while (performance.now() < end);
      blocks++;
    }, 10);
    await until(() => blocks >= 3);
    const refused = await call(gateway.url + CHAT, { body: CHAT_BODY });
    clearInterval(block);
    expect(refused.status).toBe(429);
    expect(envelopeOf(refused)).toEqual({
      message: 'the gateway is too busy to take more work; try again later',
      type: 'server_overloaded_error',
      param: null,
      code: null,
    });
    expect(refused.headers['x-narwhal-reason']).toBe('saturated');
    expect(refused.headers['retry-after']).toMatch(/^[1-5]$/);
    const { status, text } = await stream;
    expect([status, text.endsWith('data: [DONE]\n\n')]).toEqual([200, true]);
    expect((await call(gateway.url + CHAT, { body: CHAT_BODY })).status).toBe(200);
    const rows = await gateway.allRows();
    expect(rows.filter(({ reason }) => reason === 'saturated').map(({ terminal }) => terminal)).toContain(
      'rejected',
    );
  });
});
