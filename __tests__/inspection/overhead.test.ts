/** What counts as the router's own time, and what a distribution does with a value. */
import type { RequestContext } from '../../lib/context';
import { Distribution } from '../../lib/inspection/distribution';
import { overheadMs } from '../../lib/inspection/router-overhead';
import type { LegNote } from '../../lib/serving/leg-watch';
import { CHAT, CHAT_BODY, call } from '../helpers/call';
import { startGateway } from '../helpers/create-app';
import { scrape } from './scrape';

function note(startedAt: number, endedAt: number | null, leg: LegNote['leg'] = 'prefill'): LegNote {
  return { leg, iid: 'p0', startedAt, endedAt, failed: false };
}

interface Facts {
  readonly legs?: LegNote[];
  readonly waits?: readonly (readonly [number, number])[];
  readonly queueWaitMs?: number | null;
}

function overhead(settledAt: number | null, { legs = [], waits = [], queueWaitMs = null }: Facts = {}) {
  const record = { legs, waits, queueWaitMs };
  return overheadMs({ arrivedAt: 1000, settledAt, record } as unknown as RequestContext);
}

describe('the router overhead of a request', () => {
  it('is the whole time where nothing was waited for', () => {
    expect(overhead(1010)).toBe(10);
  });

  it('leaves out legs, the body, the seat and the pause before a retry', () => {
    const facts = { legs: [note(1010, 1050), note(1060, 1160, 'decode')], waits: [[1001, 1004]] as const };
    expect(overhead(1165, { ...facts, queueWaitMs: 2 })).toBe(20);
  });

  it('counts legs that run beside each other once', () => {
    expect(overhead(1100, { legs: [note(1010, 1050), note(1020, 1090), note(1030, 1040)] })).toBe(20);
  });

  it('does not count what runs on after the answer, nor reclaim legs', () => {
    expect(overhead(1100, { legs: [note(1050, 2000), note(1000, 1100, 'reclaim')] })).toBe(50);
    expect(overhead(1100, { legs: [note(1050, null)] })).toBe(50);
  });

  it('is never below zero, and unknown where no answer was given', () => {
    expect(overhead(1010, { legs: [note(1000, 1010)], queueWaitMs: 5 })).toBe(0);
    expect(overhead(null)).toBeNull();
  });

  it('stays far below the time that a slow engine takes', async () => {
    const { url, journal } = await startGateway({
      fleetFile: { serving: { retry_base_s: 0.2, retry_cap_s: 0.2 } },
      stub: {
        decode: 2,
        // By its id: the reclaim leg of the first attempt is a decode leg as well.
        script: ({ requestId }) => {
          if (requestId.endsWith('-a1-decode')) return { status: 500 };
          return requestId.endsWith('-a2-decode') ? { delayMs: 400 } : undefined;
        },
      },
    });
    await call(url + CHAT, { body: CHAT_BODY });
    const { duration_s, attempts } = await journal.firstRow();
    expect(attempts).toBe(2);
    const seen = await scrape(url);
    expect(duration_s).toBeGreaterThan(0.4);
    expect(seen.value('narwhal_router_overhead_seconds_sum')).toBeLessThan(duration_s - 0.39);
    expect(seen.value('narwhal_router_overhead_seconds_sum')).toBeGreaterThan(0);
  });
});

describe('a distribution', () => {
  it('counts a value in the first bucket that holds it, and what is above all in the last', () => {
    const distribution = new Distribution([1, 2, 5]);
    for (const value of [0, 1, 1.5, 2, 5.5, 100]) distribution.observe(value);
    expect([...distribution.counts]).toEqual([2, 2, 0, 2]);
    expect(distribution.sum).toBe(110);
  });

  it('leaves out what is no number or below zero', () => {
    const distribution = new Distribution([1]);
    for (const value of [Number.NaN, -1, -0.001]) distribution.observe(value);
    expect([...distribution.counts, distribution.sum]).toEqual([0, 0, 0]);
  });
});
