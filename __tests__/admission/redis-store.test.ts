/** Limits that several gateways share, over a real redis-server, with the clients of both packages. */
import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { ConfigError, type LimitStore, redisLimitStore } from '../../lib/index';
import { CHAT, CHAT_BODY, call } from '../helpers/call';
import { startGateway } from '../helpers/create-app';
import { HAS_REDIS, type RedisServer, startRedis } from './redis-server';

/** Skipped, in words, where there is no redis-server (Debian: apt-get install redis-server). */
const describeWithRedis = HAS_REDIS ? describe : describe.skip;
const WORDS = HAS_REDIS ? '' : ' (skipped: there is no redis-server on this machine)';

const requests = (perMinute: number, cost = 1) => ({ name: 'requests', perMinute, cost }) as const;
const tokens = (perMinute: number, cost: number) => ({ name: 'tokens', perMinute, cost }) as const;

describeWithRedis.each(['ioredis', 'redis'])(`limits in Redis, over %s${WORDS}`, (name) => {
  let server: RedisServer;
  let io: Redis;
  let node: ReturnType<typeof createClient>;
  let store: LimitStore;
  let keys: (pattern: string) => Promise<string[]>;

  beforeAll(async () => {
    server = await startRedis();
    io = new Redis(server.socket);
    node = createClient({ socket: { path: server.socket, tls: false } });
    await node.connect();
    store = redisLimitStore(name === 'redis' ? node : io);
    keys = (pattern) => io.keys(pattern);
  });
  afterAll(async () => {
    await io.quit();
    await node.close();
    await server.stop();
  });
  beforeEach(() => io.flushall());

  it('take until a bucket is empty, and say what is left', async () => {
    const answers = [];
    for (let n = 0; n < 4; n++) answers.push(await store.take('a', [requests(3)], false));
    expect(answers.map(({ allowed }) => allowed)).toEqual([true, true, true, false]);
    expect(answers[0]?.levels[0]).toBeCloseTo(2, 1);
    expect((await store.take('b', [requests(3)], false)).allowed).toBe(true);
  });

  it('take from all buckets or from none', async () => {
    await store.take('a', [requests(10), tokens(100, 80)], false);
    const refused = await store.take('a', [requests(10), tokens(100, 80)], false);
    expect(refused.allowed).toBe(false);
    expect(refused.levels[0]).toBeCloseTo(9, 0);
    expect((await store.take('a', [requests(10, 0), tokens(100, 0)], false)).levels[0]).toBeCloseTo(9, 0);
  });

  it('fill again with time', async () => {
    await store.take('a', [requests(60_000, 60_000)], false);
    let answer = await store.take('a', [requests(60_000, 20)], false);
    expect(answer.allowed).toBe(false);
    while (!answer.allowed) answer = await store.take('a', [requests(60_000, 20)], false);
    expect(answer.levels[0]).toBeGreaterThanOrEqual(0);
  });

  it('may be overdrawn by force, and given back to', async () => {
    expect((await store.take('a', [tokens(100, 250)], true)).levels[0]).toBeCloseTo(-150, 0);
    expect((await store.take('a', [tokens(100, 0)], false)).allowed).toBe(false);
    expect((await store.take('a', [tokens(100, -1000)], true)).levels[0]).toBe(100);
  });

  it('are atomic: of 200 at once exactly the limit is let in', async () => {
    const answers = await Promise.all(
      Array.from({ length: 200 }, async () => store.take('a', [requests(50)], false)),
    );
    // One more would need 1.2 s.
    expect(answers.filter(({ allowed }) => allowed)).toHaveLength(50);
  });

  it('leave nothing behind for ever, and keep names of tenants apart', async () => {
    await store.take('a:{b}/c d', [requests(60), tokens(10, 5)], false);
    await store.take('a', [requests(60)], false);
    const found = (await keys('*')).sort();
    expect(found).toEqual(['narwhal:limit:a', 'narwhal:limit:a%3A%7Bb%7D%2Fc%20d']);
    for (const key of found) {
      const left = await io.pttl(key);
      expect([left > 0, left <= 62_000]).toEqual([true, true]);
    }
  });

  it('hold over two gateways', async () => {
    const router = {
      apiKeys: { k: { tenant: 'red', requestsPerMinute: 3 } },
      admissionGate: { limitStore: store },
    };
    const gateways = [await startGateway({ router }), await startGateway({ router })];
    const statuses: number[] = [];
    for (let n = 0; n < 4; n++) {
      const { url } = gateways[n % 2]!;
      const reply = await call(url + CHAT, { headers: { authorization: 'Bearer k' }, body: CHAT_BODY });
      statuses.push(reply.status);
      expect(reply.headers['x-ratelimit-remaining-requests']).toBe(String(Math.max(0, 2 - n)));
      if (n === 3) expect(Number(reply.headers['retry-after'])).toBeGreaterThan(1);
    }
    expect(statuses).toEqual([200, 200, 200, 429]);
  });

  it('do not stop requests when the server answers with an error', async () => {
    await io.set('narwhal:limit:red', 'not a hash');
    const router = {
      apiKeys: { k: { tenant: 'red', requestsPerMinute: 1 } },
      admissionGate: { limitStore: store },
    };
    const gateway = await startGateway({ router });
    for (let n = 0; n < 2; n++) {
      const reply = await call(gateway.url + CHAT, {
        headers: { authorization: 'Bearer k' },
        body: CHAT_BODY,
      });
      expect(reply.status).toBe(200);
    }
    expect(gateway.logger.text).toContain('store of tenant limits');
  });
});

describe('redisLimitStore', () => {
  it.each([[undefined], [null], [{}], [{ eval: () => null }], ['redis://x']])(
    'refuses %j as a client',
    (client) => {
      expect(() => redisLimitStore(client as unknown as Redis)).toThrow(ConfigError);
    },
  );

  it('names an option that does not exist', () => {
    const client = { isOpen: true, eval: () => Promise.resolve(null) };
    expect(() => redisLimitStore(client, { prefx: 'x' } as object)).toThrow('did you mean prefix?');
  });
});
