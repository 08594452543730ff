import { LegTimer, type Limit } from '../../lib/serving/deadlines';

/** What a timer did: which limit ended it, and when. */
function watch(requestMs: number): { timer: LegTimer; ended: Promise<Limit>; fired: Limit[] } {
  const fired: Limit[] = [];
  let end: (limit: Limit) => void = () => undefined;
  const ended = new Promise<Limit>((resolve) => {
    end = resolve;
  });
  const timer = new LegTimer(performance.now() + requestMs, (limit) => {
    fired.push(limit);
    end(limit);
  });
  return { timer, ended, fired };
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe('the timer of a leg', () => {
  test('ends with the nearer limit: its own', async () => {
    const { timer, ended } = watch(60_000);
    timer.arm('prefill', 0.02);
    expect(await ended).toBe('prefill');
  });

  test('ends with the nearer limit: the deadline of the request', async () => {
    const { timer, ended } = watch(20);
    timer.arm('gap', 60);
    expect(await ended).toBe('request');
  });

  test('holds only the deadline where the limit is 0', async () => {
    const { timer, ended } = watch(30);
    timer.arm('first_token', 0);
    expect(await ended).toBe('request');
  });

  test('holds one limit at a time: the last one', async () => {
    const { timer, ended, fired } = watch(60_000);
    timer.arm('pool', 0.02);
    timer.arm('first_token', 0.05);
    expect(await ended).toBe('first_token');
    await sleep(40);
    expect(fired).toEqual(['first_token']);
  });

  test('never ends early, also where it was touched', async () => {
    const { timer, ended } = watch(60_000);
    timer.arm('gap', 0.08);
    for (let i = 0; i < 5; i++) {
      await sleep(20);
      timer.touch();
    }
    const touchedAt = performance.now();
    expect(await ended).toBe('gap');
    expect(performance.now() - touchedAt).toBeGreaterThanOrEqual(78);
  });

  test('is not carried past the deadline of the request by touches', async () => {
    const { timer, ended } = watch(60);
    timer.arm('gap', 0.04);
    const touching = setInterval(() => timer.touch(), 5);
    expect(await ended).toBe('request');
    clearInterval(touching);
  });

  test('fires at once where the deadline has already passed', async () => {
    const { timer, ended } = watch(-1000);
    timer.arm('prefill', 10);
    expect(await ended).toBe('request');
  });

  test('is silent after clear, and keeps nothing open', async () => {
    const { timer, fired } = watch(30);
    timer.arm('gap', 0.01);
    timer.clear();
    timer.clear();
    await sleep(50);
    expect(fired).toEqual([]);
  });
});
