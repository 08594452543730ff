/** A gateway whose seats are taken: what is said over HTTP, what the row says, and who leaves the queue how. */
import { CHAT, CHAT_BODY, call, envelopeOf, type Sent } from '../helpers/call';
import { type Gateway, startGateway } from '../helpers/create-app';
import { until } from '../integration/gateway';

/** A gateway with one seat, and a request that sits in it until its client leaves. */
async function fullHouse(serving: object): Promise<{ gateway: Gateway; leave: () => void }> {
  let reached: () => void = () => undefined;
  const inside = new Promise<void>((resolve) => {
    reached = resolve;
  });
  const gateway = await startGateway({
    fleetFile: { serving: { max_connections: 1, max_attempts: 1, ...serving } },
    stub: { script: { leg: 'prefill', hang: true, times: 1, onCall: () => reached() } },
  });
  const controller = new AbortController();
  call(gateway.url + CHAT, { body: CHAT_BODY, signal: controller.signal }).catch(() => undefined);
  await inside;
  return { gateway, leave: () => controller.abort() };
}

const ask = ({ url }: Gateway, more: Sent = {}) => call(url + CHAT, { body: CHAT_BODY, ...more });

describe('a full house', () => {
  it('refuses 49 of 50 at once, with waits from 1 to 5 s that are not all the same', async () => {
    const { gateway, leave } = await fullHouse({});
    const replies = await Promise.all(Array.from({ length: 49 }, () => ask(gateway)));
    for (const reply of replies) {
      expect([reply.status, envelopeOf(reply).type]).toEqual([429, 'server_overloaded_error']);
      expect(reply.headers['x-narwhal-reason']).toBe('inflight_limit');
      expect(reply.headers['retry-after']).toMatch(/^[1-5]$/);
    }
    expect(new Set(replies.map(({ headers }) => headers['retry-after'])).size).toBeGreaterThan(1);
    leave();
    const rows = await gateway.journal.waitForRows(50);
    const refused = rows.filter(({ status }) => status === 429);
    expect(refused).toHaveLength(49);
    for (const { terminal, reason } of refused)
      expect([terminal, reason]).toEqual(['rejected', 'inflight_limit']);
  });

  it('answers 504 to one that has waited long enough', async () => {
    const { gateway, leave } = await fullHouse({ queue_capacity: 1, queue_timeout_s: 0.05 });
    const expired = await ask(gateway);
    expect(expired.status).toBe(504);
    expect(envelopeOf(expired)).toEqual({
      message: 'no place for the request came free within queue_timeout_s',
      type: 'queue_expired',
      param: null,
      code: 'queue_expired',
    });
    expect(expired.headers['x-narwhal-reason']).toBe('queue_timeout');
    expect(expired.headers['retry-after']).toBeUndefined();
    const row = await gateway.journal.firstRow();
    expect(row).toMatchObject({ status: 504, terminal: 'expired', reason: 'queue_timeout', attempts: 0 });
    expect(row.queue_wait_s).toBeGreaterThanOrEqual(0.04);
    leave();
  });

  it('lets one go at once that leaves the queue, and seats the next', async () => {
    const { gateway, leave } = await fullHouse({ queue_capacity: 2, queue_timeout_s: 30 });
    const impatient = new AbortController();
    const gone = ask(gateway, { signal: impatient.signal }).catch(() => null);
    await until(() => gateway.router.state().queued === 1);
    const patient = ask(gateway);
    await until(() => gateway.router.state().queued === 2);
    expect((await ask(gateway)).status).toBe(429);
    impatient.abort();
    await gone;
    await until(() => gateway.router.state().queued === 1);
    leave();
    expect((await patient).status).toBe(200);
    await until(() => gateway.router.state().in_flight === 0);
    expect(gateway.router.state()).toMatchObject({ seats_taken: 0, queued: 0 });
    const rows = await gateway.allRows();
    expect(rows.map(({ status, cancelled_phase }) => [status, cancelled_phase])).toEqual([
      [429, null],
      [499, 'queue'],
      [499, 'prefill'],
      [200, null],
    ]);
    expect(rows[3]?.queue_wait_s).toBeGreaterThan(0);
  });

  it('still seats those that wait when the gateway begins to close, and takes no more', async () => {
    const { gateway, leave } = await fullHouse({ queue_capacity: 1, queue_timeout_s: 30 });
    const waiting = ask(gateway);
    await until(() => gateway.router.state().queued === 1);
    const closed = gateway.router.close();
    expect((await ask(gateway)).status).toBe(503);
    leave();
    // What waited when the end was told is still served.
    expect((await waiting).status).toBe(200);
    await closed;
  });
});
