import fc from 'fast-check';
import type { FleetConfig } from '../../lib/config/fleet-config';
import { EngineFault } from '../../lib/engines/fault';
import { ClientGoneError, NarwhalError } from '../../lib/errors';
import type { OutcomeName } from '../../lib/outcomes';
import { backoffMs, isTransient, RetryBudget } from '../../lib/serving/retry';

type Serving = FleetConfig['serving'];

const serving = (some: Partial<Serving>): Serving => some as Serving;
const fault = (outcome: OutcomeName, status?: number): EngineFault =>
  new EngineFault(outcome, { iid: 'd0', leg: 'decode', detail: 'x', status });

describe('a fault that another attempt may cure', () => {
  test.each<[OutcomeName, number | undefined]>([
    ['engineUnreachable', undefined],
    ['engineConnection', undefined],
    ['engineTimeout', undefined],
    ['engineTimeout', 408],
    ['engineTimeout', 504],
    ['engineOverloaded', 429],
    ['engineOverloaded', 503],
    ['engineError', undefined],
    ['engineError', 500],
    ['engineError', 502],
    ['badHandoff', undefined],
    ['localPool', undefined],
  ])('is %s (status %s)', (outcome, status) => {
    expect(isTransient(fault(outcome, status))).toBe(true);
  });

  test('is a handoff that got too old', () => {
    expect(isTransient(new NarwhalError('handoffExpired', 'x'))).toBe(true);
  });

  test.each<[OutcomeName, number | undefined]>([
    ['engineRefused', 400],
    ['engineAuth', 401],
    ['engineAuth', 403],
    ['engineError', 501],
    ['engineError', 307],
    ['badAnswer', undefined],
    ['answerTooLarge', undefined],
  ])('is not %s (status %s)', (outcome, status) => {
    expect(isTransient(fault(outcome, status))).toBe(false);
  });

  test.each([
    new ClientGoneError(),
    new NarwhalError('requestExpired', 'x'),
    new NarwhalError('shuttingDown', 'x'),
    new NarwhalError('noEngine', 'x'),
    new Error('a bug'),
    undefined,
  ])('is not %s', (error) => {
    expect(isTransient(error)).toBe(false);
  });
});

describe('the wait before an attempt', () => {
  const limits = serving({ retryBaseS: 0.1, retryCapS: 1 });

  test.each([
    [1, 100],
    [2, 200],
    [3, 400],
    [4, 800],
    [5, 1000],
    [60, 1000],
    [2000, 1000],
  ])('after attempt %i is below %i ms', (attempt, ceiling) => {
    expect(backoffMs(limits, attempt, 0)).toBe(0);
    expect(backoffMs(limits, attempt, 0.5)).toBeCloseTo(ceiling / 2);
    expect(backoffMs(limits, attempt, 0.999999)).toBeLessThan(ceiling);
  });

  test('is random over the whole of it, so that clients do not come back at once', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 50 }),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        (n, random) => {
          expect(backoffMs(limits, n, random)).toBeCloseTo(random * backoffMs(limits, n, 1), 6);
        },
      ),
    );
  });
});

describe('the retry budget', () => {
  test('is spent one by one, and no further', () => {
    const budget = new RetryBudget(serving({ retryBudget: 2, retryReplenish: 0 }));
    expect([budget.take(), budget.take(), budget.take()]).toEqual([true, true, false]);
    expect(budget.left).toBe(0);
  });

  test('needs a whole retry in it', () => {
    const budget = new RetryBudget(serving({ retryBudget: 1, retryReplenish: 0.25 }));
    expect(budget.take()).toBe(true);
    for (let i = 0; i < 3; i++) budget.replenish();
    expect(budget.take()).toBe(false);
    budget.replenish();
    expect(budget.take()).toBe(true);
  });

  test('stays between nothing and its size, whatever happens', () => {
    fc.assert(
      fc.property(fc.array(fc.boolean()), (good) => {
        const budget = new RetryBudget(serving({ retryBudget: 3, retryReplenish: 0.4 }));
        for (const ended of good) {
          if (ended) budget.replenish();
          else budget.take();
          expect(budget.left).toBeGreaterThanOrEqual(0);
          expect(budget.left).toBeLessThanOrEqual(3);
        }
      }),
    );
  });
});
