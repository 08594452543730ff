/** Limits per minute: the buckets, their headers, and the store in memory. */
import { duration, limitHeaders, waitS } from '../../lib/admission/limits';
import { MemoryStore } from '../../lib/admission/memory-store';
import { tenantOf } from '../../lib/admission/tenants';

const requests = (perMinute: number, cost = 1) => ({ name: 'requests', perMinute, cost }) as const;
const tokens = (perMinute: number, cost: number) => ({ name: 'tokens', perMinute, cost }) as const;

describe('the store in memory', () => {
  it('lets a full bucket be emptied, and then one through whenever it has filled that far', () => {
    let now = 0;
    const store = new MemoryStore(() => now);
    const ask = () => store.take('a', [requests(6)], false).allowed;
    expect(Array.from({ length: 7 }, ask)).toEqual([true, true, true, true, true, true, false]);
    now = 9_999;
    expect(ask()).toBe(false);
    now = 10_000;
    expect([ask(), ask()]).toEqual([true, false]);
  });

  it('takes from all buckets or from none', () => {
    const store = new MemoryStore(() => 0);
    expect(store.take('a', [requests(10), tokens(100, 80)], false)).toEqual({
      allowed: true,
      levels: [9, 20],
    });
    expect(store.take('a', [requests(10), tokens(100, 80)], false)).toEqual({
      allowed: false,
      levels: [9, 20],
    });
    expect(store.take('b', [requests(10), tokens(100, 80)], false).allowed).toBe(true);
  });

  it('lets a draw that is larger than the bucket have a full one, and overdraw it', () => {
    let now = 0;
    const store = new MemoryStore(() => now);
    expect(store.take('a', [tokens(100, 250)], false)).toEqual({ allowed: true, levels: [-150] });
    now = 89_000;
    expect(store.take('a', [tokens(100, 0)], false).allowed).toBe(false);
    now = 90_000;
    expect(store.take('a', [tokens(100, 0)], false).allowed).toBe(true);
  });

  it('gives back what was not used, and never more than the bucket holds', () => {
    const store = new MemoryStore(() => 0);
    store.take('a', [tokens(100, 60)], false);
    expect(store.take('a', [tokens(100, -40)], true).levels).toEqual([80]);
    expect(store.take('a', [tokens(100, -40)], true).levels).toEqual([100]);
    expect(store.take('a', [tokens(100, 150)], true)).toEqual({ allowed: true, levels: [-50] });
  });

  it('forgets a thousand tenants whose buckets are full again', () => {
    let now = 0;
    const store = new MemoryStore(() => now);
    for (let n = 0; n < 1000; n++) store.take(`tenant-${n}`, [requests(60)], false);
    now = 61_000;
    for (let n = 0; n < 256; n++) store.take('one', [requests(6000)], false);
    expect(store.size).toBe(1);
  });

  it('keeps a bounded number of tenants even when all are new', () => {
    const store = new MemoryStore(() => 0);
    for (let n = 0; n < 10_500; n++) store.take(`tenant-${n}`, [requests(60)], false);
    expect(store.size).toBe(10_000);
  });
});

describe('the headers of a limit', () => {
  it('have the names and the form of OpenAI', () => {
    expect(limitHeaders([requests(60), tokens(1000, 5)], [58.5, -20])).toEqual({
      'x-ratelimit-limit-requests': '60',
      'x-ratelimit-remaining-requests': '58',
      'x-ratelimit-reset-requests': '1.5s',
      'x-ratelimit-limit-tokens': '1000',
      'x-ratelimit-remaining-tokens': '0',
      'x-ratelimit-reset-tokens': '1m1.2s',
    });
  });

  it.each([
    [0, '0ms'],
    [-1, '0ms'],
    [0.0875, '88ms'],
    [1, '1s'],
    [7.66, '7.66s'],
    [360, '6m0s'],
    [60.5, '1m0.5s'],
  ])('write %d s as %s', (seconds, text) => {
    expect(duration(seconds)).toBe(text);
  });

  it('come with the true wait: that of the slowest bucket', () => {
    expect(waitS([requests(60), tokens(600, 100)], [0.5, 40])).toBe(6);
    expect(waitS([requests(60)], [5])).toBe(0);
    expect(waitS([tokens(100, 500)], [40])).toBe(36);
  });
});

describe('the tenant of an identity', () => {
  it.each([null, { tenant: null }, { tenant: null, plan: 'free' }])('is nobody for %j', (identity) => {
    expect(tenantOf(identity)).toBeNull();
  });

  it('is refused where it is no text', () => {
    expect(() => tenantOf({ tenant: 5 })).toThrow(
      new TypeError('the tenant of an identity must be a string or null, not a number'),
    );
  });

  it('has weight 1 and no limits unless they are given', () => {
    expect(tenantOf({ tenant: 'a', weight: null, plan: 'free' })).toEqual({
      name: 'a',
      weight: 1,
      maxInFlight: undefined,
      requestsPerMinute: null,
      tokensPerMinute: null,
    });
  });

  it.each([
    { maxInFlight: 2, requestsPerMinute: 60, tokensPerMinute: 1000 },
    { max_in_flight: 2, requests_per_minute: 60, tokens_per_minute: 1000 },
  ])('may have its limits in either spelling: %j', (limits) => {
    expect(tenantOf({ tenant: 'a', weight: 0.5, ...limits })).toEqual({
      name: 'a',
      weight: 0.5,
      maxInFlight: 2,
      requestsPerMinute: 60,
      tokensPerMinute: 1000,
    });
  });

  it.each([
    [{ tenant: 'a', weight: 0 }, 'weight of an identity must be at least'],
    [{ tenant: 'a', weight: '3' }, 'weight of an identity must be a number'],
    [{ tenant: 'a', max_in_flight: 1.5 }, 'maxInFlight of an identity must be a whole number'],
    [{ tenant: 'a', requestsPerMinute: 0 }, 'requestsPerMinute of an identity must be at least 1'],
    [{ weight: 3 }, 'an identity with limits needs a tenant'],
  ])('is an error for %j', (identity, words) => {
    expect(() => tenantOf(identity)).toThrow(words);
  });
});
