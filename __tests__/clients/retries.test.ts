/** A gateway that is full, or has no engine for a moment: each client waits as it is told, and is served. */
import { call } from '../helpers/call';
import { COMPLETIONS, until } from '../integration/gateway';
import { CLIENTS, openGateway } from './clients';

describe.each(CLIENTS)('$name', ({ ask, stream }) => {
  it('that meets a full house asks again, and is served', async () => {
    const gateway = await openGateway({ file: { serving: { max_connections: 1 } } });
    gateway.fleet.script = [{ leg: 'prefill', hang: true }];
    const holding = new AbortController();
    const { signal } = holding;
    const holder = ask({ url: gateway.url, prompt: 'hi', signal });
    await until(() => gateway.legs.length === 1);
    const asking = ask({ url: gateway.url, prompt: 'Say nonce-again1', maxRetries: 1 });
    await gateway.rowsOf(1);
    holding.abort();
    await holder;
    const { fault, text } = await asking;
    expect(fault).toBeNull();
    expect(text).toContain('nonce-again1');
    expect(await gateway.rowsOf(3)).toMatchObject([
      { terminal: 'rejected', reason: 'inflight_limit', status: 429, attempts: 0 },
      { terminal: 'cancelled' },
      { terminal: 'completed', status: 200, attempts: 1 },
    ]);
  });

  it('that meets a fleet without a decode engine asks again, and is served when there is one', async () => {
    const gateway = await openGateway();
    const act = (verb: string) => call(`${gateway.url}/narwhal/engines/d0/${verb}`, { body: {} });
    await act('drain');
    const asking = stream({ url: gateway.url, prompt: 'Say nonce-again2', maxRetries: 3 });
    await gateway.rowsOf(1);
    expect(gateway.legs).toEqual([]);
    expect((await act('readmit')).status).toBe(200);
    const { fault, text } = await asking;
    expect(fault).toBeNull();
    expect(text).toContain('nonce-again2');
    await gateway.router.close();
    const rows = await gateway.rowsOf(2);
    expect(rows.at(-1)).toMatchObject({ terminal: 'completed', status: 200, attempts: 1 });
    for (const row of rows.slice(0, -1)) {
      expect(row).toMatchObject({ terminal: 'rejected', reason: 'no_engine', status: 503 });
    }
  });

  it('keeps the words of the refusal, once it has asked often enough', async () => {
    const gateway = await openGateway();
    await call(`${gateway.url}/narwhal/engines/d0/drain`, { body: {} });
    for (const way of [ask, stream]) {
      const { fault } = await way({ url: gateway.url, prompt: 'hi' });
      const word = 'no_schedulable_engines';
      expect(fault).toMatchObject({ status: 503, type: word, code: word });
      expect(fault?.message).toMatch(/no engine can take the request now/);
    }
    expect(await gateway.rowsOf(2)).toHaveLength(2);
  });
});

describe('a tenant that has used up its share', () => {
  it('is served by its next request, whichever client it uses: each waits for the whole Retry-After', async () => {
    // One more every three seconds: longer than what any of them would wait by itself.
    const limits = { requests_per_minute: 20 };
    const tenants = CLIENTS.map((client, at) => ({ ...client, apiKey: `key-${at}`, tenant: `tenant-${at}` }));
    const keys = tenants.map(({ apiKey, tenant }) => [apiKey, { tenant, ...limits }] as const);
    const gateway = await openGateway({ options: { apiKeys: Object.fromEntries(keys) } });
    const { url } = gateway;
    const body = { prompt: 'hi', max_tokens: 1 };
    const usedUp = tenants.map(async ({ apiKey }) => {
      const headers = { authorization: `Bearer ${apiKey}` };
      const all = Array.from({ length: 20 }, () => call(url + COMPLETIONS, { body, headers }));
      expect((await Promise.all(all)).map(({ status }) => status)).toEqual(all.map(() => 200));
    });
    await Promise.all(usedUp);
    const question = { url, prompt: 'Say nonce-again3', maxRetries: 1 };
    const seen = await Promise.all(tenants.map(({ ask, apiKey }) => ask({ ...question, apiKey })));
    expect(seen.map(({ fault }) => fault)).toEqual(tenants.map(() => null));
    const rows = await gateway.rowsOf(22 * tenants.length);
    for (const one of tenants) {
      expect(rows.filter(({ tenant }) => tenant === one.tenant).slice(20)).toMatchObject([
        { terminal: 'rejected', reason: 'tenant_limit', status: 429, attempts: 0 },
        { terminal: 'completed', status: 200, attempts: 1 },
      ]);
    }
  });
});
