/** What a retry costs and when there is none: the budget, the waits that engines ask for, stale sockets. */
import type { StubScript } from '../../lib/testing';
import { BODY, startGateway, until } from './gateway';

describe('the retry budget', () => {
  it('is shared by all requests of a gateway', async () => {
    const gateway = await startGateway({
      stub: { prefill: 3, decode: 2 },
      file: {
        serving: { max_attempts: 3, retry_budget: 3, retry_replenish: 0 },
        recovery: { eject_after: 1000 },
      },
    });
    gateway.fleet.script = { leg: 'prefill', status: 500 };
    for (let i = 0; i < 5; i++) expect((await gateway.post(BODY)).status).toBe(502);
    const attempts = (await gateway.journal.waitForRows(5)).map((row) => row.attempts);
    expect(attempts).toEqual([3, 2, 1, 1, 1]);
    expect(gateway.router.state().retry_budget).toBe(0);
  });

  it('grows back a little with each good request', async () => {
    const gateway = await startGateway({
      stub: { prefill: 2 },
      file: { serving: { retry_budget: 1, retry_replenish: 0.5 }, recovery: { eject_after: 1000 } },
    });
    gateway.fleet.script = { leg: 'prefill', times: 1, status: 500 };
    expect((await gateway.post(BODY)).status).toBe(200);
    expect(gateway.router.state().retry_budget).toBe(0.5);
    expect((await gateway.post(BODY)).status).toBe(200);
    expect((await gateway.post(BODY)).status).toBe(200);
    // Never above its size.
    expect(gateway.router.state().retry_budget).toBe(1);
  });
});

describe('an attempt that fails', () => {
  it('makes the next one use a handoff of its own', async () => {
    const gateway = await startGateway({
      stub: { prefill: 3, decode: 3 },
      file: { serving: { max_attempts: 3 } },
    });
    gateway.fleet.script = (call) =>
      call.leg === 'decode' && /-a[12]-decode$/.test(call.requestId) ? { status: 500 } : undefined;
    expect((await gateway.post(BODY)).status).toBe(200);
    const row = await gateway.row();
    expect(row).toMatchObject({ attempts: 3, decode_attempts: 3, kv: 'reclaimed' });
    const handoffs = gateway.legs().flatMap(({ leg, handoff }) => (leg === 'prefill' ? [handoff] : []));
    expect(new Set(handoffs).size).toBe(3);
    expect(gateway.fleet.ledger).toMatchObject({ produced: 3, claimed: 1, released: 2 });
    // A failed decode leg keeps its producer out of the next attempt as well.
    const producers = gateway.legs().flatMap(({ leg, engine }) => (leg === 'prefill' ? [engine] : []));
    expect(new Set(producers).size).toBe(3);
  });

  it.each([400, 404, 413, 422])('with %i is a fault of the request: no other follows', async (status) => {
    for (const leg of ['prefill', 'decode'] as const) {
      const gateway = await startGateway({
        stub: { prefill: 2, decode: 2 },
        file: { serving: { max_attempts: 3 } },
      });
      gateway.fleet.script = ({ leg: at, requestId }) =>
        at === leg && !requestId.endsWith('-reclaim') ? { status } : undefined;
      expect((await gateway.post(BODY)).status).toBe(status);
      expect(await gateway.row()).toMatchObject({
        terminal: 'invalid',
        reason: 'engine_refused',
        attempts: 1,
      });
      expect(gateway.legs().filter((call) => call.leg === leg)).toHaveLength(1);
    }
  });
});

describe('an engine that asks for time', () => {
  const WAITS: [string, StubScript['retryAfter'], boolean][] = [
    ['seconds', 4, true],
    ['a date to come', new Date(Date.now() + 60_000).toUTCString(), true],
    ['an absurd number', 1e9, true],
    ['nothing that can be read', 'soon', true],
    ['no time at all', 0, false],
    ['a negative number', -5, false],
    ['a date long past', 'Thu, 01 Jan 1970 00:00:00 GMT', false],
  ];

  it.each(WAITS)('for %s (%s) is left alone: %s', async (_name, retryAfter, isLeftAlone) => {
    const gateway = await startGateway({ stub: { decode: 2 } });
    gateway.fleet.script = { leg: 'decode', times: 1, status: 429, retryAfter };
    expect((await gateway.post(BODY)).status).toBe(200);
    const busy = (await gateway.row()).attempt_failures[0]!.iid;
    const before = gateway.legs().length;
    for (let i = 0; i < 4; i++) expect((await gateway.post(BODY)).status).toBe(200);
    const served = gateway
      .legs()
      .slice(before)
      .flatMap(({ leg, engine }) => (leg === 'decode' ? [engine] : []));
    expect(served.includes(busy)).toBe(!isLeftAlone);
    expect(gateway.stateOf(busy).state).toBe('live');
  });

  it('is asked all the same where it is the only one of its role', async () => {
    const gateway = await startGateway({ file: { serving: { max_attempts: 1 } } });
    gateway.fleet.script = { leg: 'decode', times: 1, status: 503, retryAfter: 60 };
    const refused = await gateway.post(BODY);
    expect(refused.status).toBe(502);
    expect(refused.headers['retry-after']).toBeUndefined();
    expect((await gateway.post(BODY)).status).toBe(200);
  });
});

describe('a kept connection', () => {
  it('that the engine closes at its boundary costs no client anything', async () => {
    const gateway = await startGateway({
      stub: { keepAliveTimeoutMs: 50, generate: () => ({ content: ['short'] }) },
    });
    const lane = async (): Promise<void> => {
      for (let pair = 0; pair < 25; pair++) {
        expect((await gateway.post(BODY)).status).toBe(200);
        await new Promise((resolve) => setTimeout(resolve, 45 + (pair % 16)));
        expect((await gateway.post(BODY)).status).toBe(200);
      }
    };
    await Promise.all(Array.from({ length: 8 }, lane));
    const rows = await gateway.journal.waitForRows(400);
    expect(rows.filter(({ terminal, attempts }) => terminal !== 'completed' || attempts !== 1)).toEqual([]);
    for (const { ejections } of gateway.router.state().engines) expect(ejections).toBe(0);
  }, 90_000);

  it('that breaks before an answer is replaced once, with the same id', async () => {
    const gateway = await startGateway({ file: { serving: { max_attempts: 1 } } });
    await gateway.post(BODY);
    gateway.fleet.script = { leg: 'decode', times: 1, resetAfterFrames: 0 };
    expect((await gateway.post(BODY)).status).toBe(200);
    const ids = gateway.legs('d0').map(({ requestId }) => requestId);
    expect(ids[1]).toBe(ids[2]);
    await gateway.post(BODY);
    gateway.fleet.script = { leg: 'decode', resetAfterFrames: 0 };
    expect((await gateway.post(BODY)).status).toBe(502);
    expect(gateway.legs('d0').slice(4)).toHaveLength(2);
  });

  it('that breaks while the engine was at work is a failure: the call is not sent twice', async () => {
    const gateway = await startGateway({ file: { serving: { max_attempts: 1 } } });
    await gateway.post(BODY);
    gateway.fleet.script = { leg: 'decode', delayMs: 700, resetAfterFrames: 0 };
    expect((await gateway.post(BODY)).status).toBe(502);
    await until(() => gateway.journal.rows.length === 2);
    expect(gateway.journal.rows[1]).toMatchObject({ reason: 'engine_connection', kv: 'leased' });
    expect(gateway.legs('d0')).toHaveLength(2);
  });
});
