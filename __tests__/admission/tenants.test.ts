/** A tenant's own limits over HTTP: who is refused, what is said, which headers stand on every answer. */
import type { LimitStore, NarwhalRouterOptions } from '../../lib/index';
import { CHAT, CHAT_BODY, COMPLETIONS, call, envelopeOf } from '../helpers/call';
import { type GatewayOptions, startGateway } from '../helpers/create-app';
import { until } from '../integration/gateway';

const RED = { authorization: 'Bearer red' };
const BLUE = { authorization: 'Bearer blue' };

function withTenant(limits: object, more: GatewayOptions = {}, router: NarwhalRouterOptions = {}) {
  const apiKeys = { red: { tenant: 'red', ...limits }, blue: { tenant: 'blue' } };
  return startGateway({ ...more, router: { apiKeys, ...router } });
}

/** The limit headers of an answer, by what stands behind `x-ratelimit-`. */
function limitsOf(headers: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const own = Object.entries(headers).filter(([name]) => name.startsWith('x-ratelimit-'));
  return Object.fromEntries(own.map(([name, value]) => [name.slice('x-ratelimit-'.length), value]));
}

const MESSAGE = 'your own limit is reached; try again later';

describe('a tenant with so many requests per minute', () => {
  it('gets 429 above it, with the true wait, while others are served', async () => {
    const gateway = await withTenant({ requestsPerMinute: 2 });
    const ask = (headers: Record<string, string>) => call(gateway.url + CHAT, { headers, body: CHAT_BODY });
    const first = await ask(RED);
    expect([first.status, limitsOf(first.headers)]).toEqual([
      200,
      {
        'limit-requests': '2',
        'remaining-requests': '1',
        'reset-requests': expect.stringMatching(/^(30|29\.\d+)s$/) as string,
      },
    ]);
    expect((await ask(RED)).status).toBe(200);
    const refused = await ask(RED);
    expect(refused.status).toBe(429);
    expect(envelopeOf(refused)).toEqual({
      message: MESSAGE,
      type: 'server_overloaded_error',
      param: null,
      code: null,
    });
    expect(refused.headers['x-narwhal-reason']).toBe('tenant_limit');
    // Two tokens a minute: the next one is there half a minute after the first was taken.
    const wait = Number(refused.headers['retry-after']);
    expect([wait > 20, wait <= 30]).toEqual([true, true]);
    expect(refused.headers['x-should-retry']).toBeUndefined();
    expect(limitsOf(refused.headers)['remaining-requests']).toBe('0');
    const other = await ask(BLUE);
    expect([other.status, limitsOf(other.headers)]).toEqual([200, {}]);
    const rows = await gateway.allRows();
    expect(rows[2]).toMatchObject({
      status: 429,
      terminal: 'rejected',
      reason: 'tenant_limit',
      tenant: 'red',
      attempts: 0,
    });
    expect(gateway.fleet.calls.filter(({ leg }) => leg === 'prefill')).toHaveLength(3);
  });

  it('sees its limits on every answer, good, streamed or refused', async () => {
    const gateway = await withTenant({ requestsPerMinute: 10, tokensPerMinute: 1000 });
    const bodies = [
      CHAT_BODY,
      { ...CHAT_BODY, stream: true },
      { ...CHAT_BODY, model: 'x' },
      { ...CHAT_BODY, n: 2 },
      '{',
    ];
    const seen: unknown[] = [];
    for (const body of bodies) {
      const reply = await call(gateway.url + CHAT, { headers: RED, body });
      const { 'remaining-requests': left, ...others } = limitsOf(reply.headers);
      seen.push([reply.status, left, Object.keys(others).sort()]);
    }
    const names = ['limit-requests', 'limit-tokens', 'remaining-tokens', 'reset-requests', 'reset-tokens'];
    expect(seen).toEqual([
      [200, '9', names],
      [200, '8', names],
      [404, '7', names],
      [400, '6', names],
      [400, '5', names],
    ]);
  });

  it('is told of a fault of its own first', async () => {
    const gateway = await withTenant({ requestsPerMinute: 1 });
    await call(gateway.url + CHAT, { headers: RED, body: CHAT_BODY });
    const statuses = [];
    for (const body of ['{', { ...CHAT_BODY, model: 'x' }, CHAT_BODY]) {
      statuses.push((await call(gateway.url + CHAT, { headers: RED, body })).status);
    }
    expect(statuses).toEqual([400, 404, 429]);
  });

  it('is not read the large body of a request that it may not make', async () => {
    const gateway = await withTenant({ requestsPerMinute: 1 });
    await call(gateway.url + CHAT, { headers: RED, body: CHAT_BODY });
    const body = Buffer.from(`{${' '.repeat(200_000)}`);
    const reply = await call(gateway.url + CHAT, { headers: RED, body });
    // It is no JSON, but nobody has looked.
    expect([reply.status, reply.headers['x-narwhal-reason']]).toEqual([429, 'tenant_limit']);
  });
});

describe('a tenant with so many tokens per minute', () => {
  it('pays for its prompt and what it asks for, and gets back what was not used', async () => {
    const gateway = await withTenant({ tokensPerMinute: 1000 });
    const body = { prompt: new Array(100).fill(5), max_tokens: 300 };
    const first = await call(gateway.url + COMPLETIONS, { headers: RED, body });
    expect([first.status, limitsOf(first.headers)['remaining-tokens']]).toEqual([200, '600']);
    const used = (await gateway.journal.firstRow()).output_len ?? 0;
    expect(used).toBeLessThan(300);
    const look = await call(gateway.url + COMPLETIONS, { headers: RED, body: '{' });
    const left = Number(limitsOf(look.headers)['remaining-tokens']);
    expect(left).toBeGreaterThanOrEqual(900 - used);
  });

  it('gets 429 with a wait from 1 to 60 where they are used up', async () => {
    const gateway = await withTenant({ tokensPerMinute: 1000 });
    const body = { prompt: new Array(600).fill(5), max_tokens: 300 };
    // Larger than what flows in: nothing of it comes back before the second one asks.
    const replies = await Promise.all(
      Array.from({ length: 2 }, () => call(gateway.url + COMPLETIONS, { headers: RED, body })),
    );
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 429]);
    const refused = replies.find(({ status }) => status === 429)!;
    const wait = Number(refused.headers['retry-after']);
    expect([wait >= 40, wait <= 60]).toEqual([true, true]);
  });

  it.each([
    ['allows it', true, 200],
    ['has too few', false, 429],
  ])('waits for a store that %s later', async (_words, allowed, status) => {
    const limitStore: LimitStore = {
      take: async (_tenant, draws) => ({
        allowed: allowed || draws.every(({ cost }) => cost <= 0),
        levels: draws.map(() => 7),
      }),
    };
    const gateway = await withTenant({ tokensPerMinute: 1000 }, {}, { admissionGate: { limitStore } });
    const reply = await call(gateway.url + COMPLETIONS, {
      headers: RED,
      body: { prompt: [1, 2], max_tokens: 3 },
    });
    expect([reply.status, limitsOf(reply.headers)['remaining-tokens']]).toEqual([status, '7']);
  });

  it('gets back what was taken for it while its client left', async () => {
    const taken: number[] = [];
    let asked: () => void = () => undefined;
    const isAsked = new Promise<void>((resolve) => {
      asked = resolve;
    });
    let answer: () => void = () => undefined;
    const limitStore: LimitStore = {
      take(_tenant, draws, force) {
        const { cost } = draws[0]!;
        if (cost !== 0) taken.push(cost);
        if (force || cost === 0) return { allowed: true, levels: [1000] };
        asked();
        return new Promise((resolve) => {
          answer = () => resolve({ allowed: true, levels: [1000 - cost] });
        });
      },
    };
    const gateway = await withTenant({ tokensPerMinute: 1000 }, {}, { admissionGate: { limitStore } });
    const leaving = new AbortController();
    const sent = { headers: RED, body: { prompt: [1, 2], max_tokens: 3 }, signal: leaving.signal };
    const reply = call(gateway.url + COMPLETIONS, sent).catch(() => null);
    await isAsked;
    leaving.abort();
    expect(await reply).toBeNull();
    await gateway.journal.firstRow();
    answer();
    await until(() => taken.length === 2);
    expect(taken).toEqual([5, -5]);
    expect(gateway.fleet.calls.filter(({ leg }) => leg === 'prefill')).toEqual([]);
  });

  it('gets nothing taken for a request that is refused otherwise', async () => {
    const gateway = await withTenant({ tokensPerMinute: 1000 });
    await call(gateway.url + COMPLETIONS, { headers: RED, body: { prompt: 'x'.repeat(300), model: 'none' } });
    const look = await call(gateway.url + COMPLETIONS, { headers: RED, body: '{' });
    expect(limitsOf(look.headers)['remaining-tokens']).toBe('1000');
  });
});

describe('a tenant with so many requests at once', () => {
  it('gets 429 above it, while others are served', async () => {
    let reached: () => void = () => undefined;
    const inside = new Promise<void>((resolve) => {
      reached = resolve;
    });
    const gateway = await withTenant(
      { max_in_flight: 1 },
      {
        stub: { script: { leg: 'prefill', hang: true, times: 1, onCall: () => reached() } },
        fleetFile: { serving: { max_attempts: 1 } },
      },
    );
    const controller = new AbortController();
    const held = call(gateway.url + CHAT, { headers: RED, body: CHAT_BODY, signal: controller.signal });
    held.catch(() => undefined);
    await inside;
    const refused = await call(gateway.url + CHAT, { headers: RED, body: CHAT_BODY });
    expect([refused.status, refused.headers['x-narwhal-reason']]).toEqual([429, 'tenant_limit']);
    expect(refused.headers['retry-after']).toMatch(/^[1-9]\d?$/);
    expect((await call(gateway.url + CHAT, { headers: BLUE, body: CHAT_BODY })).status).toBe(200);
    controller.abort();
    await until(() => gateway.router.state().seats_taken === 0);
    expect((await call(gateway.url + CHAT, { headers: RED, body: CHAT_BODY })).status).toBe(200);
  });
});

describe('seats over HTTP', () => {
  it('go 3 to 1 to two tenants, one of which floods', async () => {
    const apiKeys = { red: { tenant: 'red', weight: 1 }, blue: { tenant: 'blue', weight: 3 } };
    const gateway = await startGateway({
      router: { apiKeys },
      fleetFile: { serving: { max_connections: 4, queue_capacity: 24, queue_timeout_s: 60 } },
    });
    let isOver = false;
    // Who came first has all seats and the whole queue: counted is what comes after.
    let started = 0;
    const served = { red: 0, blue: 0 };
    const client = async (name: 'red' | 'blue'): Promise<void> => {
      const headers = { authorization: `Bearer ${name}` };
      while (!isOver) {
        const { status } = await call(gateway.url + CHAT, { headers, body: CHAT_BODY });
        if (status === 200 && !isOver && ++started > 100) served[name]++;
        isOver ||= served.red + served.blue >= 400;
      }
    };
    const flood = Array.from({ length: 40 }, () => client('red'));
    await Promise.all([...flood, ...Array.from({ length: 12 }, () => client('blue'))]);
    expect(served.blue / served.red).toBeGreaterThan(2.7);
    expect(served.blue / served.red).toBeLessThan(3.3);
  }, 60_000);
});

describe('an identity with limits that make no sense', () => {
  it('stops the start where it stands in the options, without a word of its key', async () => {
    await expect(withTenant({ requestsPerMinute: -1 })).rejects.toThrow(
      'apiKeys: key number 1: requestsPerMinute of an identity must be at least 1',
    );
  });

  it('is a fault of the host where it comes from a function', async () => {
    const gateway = await startGateway({
      router: { authenticate: () => ({ tenant: 'a', weight: 'heavy' }) },
    });
    expect((await call(gateway.url + CHAT, { body: CHAT_BODY })).status).toBe(500);
    expect((await gateway.journal.firstRow()).error).toContain('weight of an identity must be a number');
  });
});

describe('a store that fails', () => {
  const broken: readonly (readonly [string, LimitStore])[] = [
    [
      'at once',
      {
        take: () => {
          throw new Error('down');
        },
      },
    ],
    ['later', { take: () => Promise.reject(new Error('down')) }],
    ['by never answering', { take: () => new Promise(() => undefined) }],
  ];

  it.each(broken)('%s lets requests pass, and is warned of once', async (_words, limitStore) => {
    const gateway = await withTenant({ requestsPerMinute: 1 }, {}, { admissionGate: { limitStore } });
    for (let n = 0; n < 2; n++) {
      const reply = await call(gateway.url + CHAT, { headers: RED, body: CHAT_BODY });
      expect([reply.status, limitsOf(reply.headers)]).toEqual([200, {}]);
    }
    const lines = gateway.logger.lines.filter(({ message }) => message.includes('store of tenant limits'));
    expect(lines).toHaveLength(1);
  });
});
