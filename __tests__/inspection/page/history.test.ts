/** What the page remembers of the last minutes, with times that the test chooses. */
import { FailedRequests } from '../../../lib/inspection/page/failed-requests';
import { BIN_S, History } from '../../../lib/inspection/page/history';
import { spreadOf, TimeCounts } from '../../../lib/inspection/page/spread';
import type { JournalRow } from '../../../lib/journal/row';
import { row as goodRow } from '../../helpers/journal-rows';

/** A row that ended at so many monotonic seconds. */
function row(endedS: number, members: Partial<JournalRow> = {}): JournalRow {
  const at = '2026-01-01T00:00:00.000Z';
  return goodRow({ rid: `rid-${endedS}`, at, arrived: endedS - 1, duration_s: 1, ...members });
}

const REFUSED = { terminal: 'rejected', reason: 'inflight_limit', first_byte_s: null } as const;

describe('a history', () => {
  it('puts requests into the bin in which they ended, and shows whole bins only', () => {
    const history = new History();
    for (const endedS of [1000, 1004.9, 1005, 1012]) history.note(row(endedS));
    const { bins, recent } = history.view(1013);
    expect(bins.slice(-3).map(({ completed }) => completed)).toEqual([0, 2, 1]);
    // The bin that is not over yet counts in the sums.
    expect(recent.completed).toBe(4);
  });

  it('forgets what is older than five minutes, and keeps the sums since the start', () => {
    const history = new History();
    history.note(row(1000));
    history.note(row(1000, REFUSED));
    expect(history.view(1300).recent).toMatchObject({ completed: 1, refused: 1 });
    const later = history.view(1305);
    expect(later.recent).toMatchObject({ completed: 0, refused: 0 });
    expect(later.total).toMatchObject({ completed: 1, refused: 1 });
    expect(later.refusals).toEqual([{ terminal: 'rejected', reason: 'inflight_limit', recent: 0, total: 1 }]);
    expect(later.firstByte).toBeNull();
  });

  it('uses the place of an old bin again, without what was in it', () => {
    const history = new History();
    history.note(row(1000));
    history.note(row(1000 + 61 * BIN_S));
    expect(history.view(1000 + 62 * BIN_S).recent.completed).toBe(1);
  });

  it('takes a row that comes late into its own bin, and leaves out one that is too late', () => {
    const history = new History();
    history.note(row(1400));
    history.note(row(1390));
    history.note(row(1400 - 61 * BIN_S));
    const { bins, recent, total } = history.view(1406);
    expect(bins.slice(-4).map(({ completed }) => completed)).toEqual([0, 1, 0, 1]);
    expect([recent.completed, total.completed]).toEqual([2, 3]);
  });

  it('tells apart the two refusals of one word, the more frequent first', () => {
    const history = new History();
    history.note(row(1000, { terminal: 'rejected', reason: 'no_engine' }));
    for (let i = 0; i < 3; i++) history.note(row(1000, { terminal: 'invalid', reason: 'model' }));
    history.note(row(1000, { terminal: 'failed', reason: 'no_engine' }));
    expect(
      history.view(1001).refusals.map(({ terminal, reason, recent }) => [terminal, reason, recent]),
    ).toEqual([
      ['invalid', 'model', 3],
      ['rejected', 'no_engine', 1],
    ]);
    expect(history.view(1001).recent).toEqual({ completed: 0, failed: 1, refused: 4, cancelled: 0 });
  });

  it('makes "now" of the last minute, and of completed requests only', () => {
    const history = new History();
    history.note(row(1000, { first_byte_s: 9 }));
    history.note(row(1095, { first_byte_s: 0.1 }));
    history.note(row(1096, { terminal: 'failed', reason: 'engine_error', first_byte_s: 5 }));
    const [median, high] = history.view(1100).firstByte ?? [];
    expect(median).toBeCloseTo(0.1, 2);
    expect(high).toBeCloseTo(0.1, 2);
  });
});

describe('a spread', () => {
  it('is null of nothing', () => {
    expect(spreadOf([new TimeCounts()])).toBeNull();
  });

  it.each([0.0001, 0.0123, 0.25, 1, 59, 900])('is exact to 5 % at %d s', (seconds) => {
    const counts = new TimeCounts();
    counts.note(seconds);
    for (const value of spreadOf([counts]) ?? []) {
      expect(Math.abs(value / seconds - 1)).toBeLessThan(0.05);
    }
  });

  it('is of all parts together: the median and the 95th of a hundred', () => {
    const parts = [new TimeCounts(), new TimeCounts()];
    for (let i = 1; i <= 100; i++) parts[i % 2]!.note(i / 100);
    const [median, high] = spreadOf(parts) ?? [0, 0];
    expect(Math.abs(median / 0.5 - 1)).toBeLessThan(0.06);
    expect(Math.abs(high / 0.95 - 1)).toBeLessThan(0.06);
  });

  it('keeps what is out of range in the first and the last bucket', () => {
    const counts = new TimeCounts();
    for (const seconds of [0, 1e-9, 1e6, Number.POSITIVE_INFINITY]) counts.note(seconds);
    expect(counts.total).toBe(4);
    expect([counts.counts[0], counts.counts.at(-1)]).toEqual([2, 2]);
  });
});

describe('the failed requests', () => {
  const FAILED = { terminal: 'failed', reason: 'engine_error', status: 502 } as const;

  it('are the last twenty, newest first, and no others', () => {
    const failed = new FailedRequests();
    failed.note(row(5));
    failed.note(row(6, REFUSED));
    failed.note(row(7, { terminal: 'expired', reason: 'deadline', status: 504 }));
    for (let endedS = 10; endedS < 32; endedS++) failed.note(row(endedS, FAILED));
    const rids = failed.view(40).map(({ rid }) => rid);
    expect(rids).toHaveLength(20);
    expect([rids[0], rids.at(-1)]).toEqual(['rid-31', 'rid-12']);
  });

  it('have their age, the engines that they ran on, and the bare route', () => {
    const failed = new FailedRequests();
    const failure = {
      attempt: 1,
      leg: 'decode',
      iid: 'd1',
      reason: 'engine_error',
      status: 500,
      message: 'secret',
    };
    const members = { route: '/t/secret/v1/chat/completions', error: 'secret', attempt_failures: [failure] };
    failed.note(row(10, { ...FAILED, ...members, attempts: 2 }));
    const [view] = failed.view(25);
    expect(view).toMatchObject({
      age_s: 15,
      at: '2026-01-01T00:00:01.000Z',
      engines: ['p0', 'd0', 'd1'],
      route: '/v1/chat/completions',
      attempts: 2,
    });
    expect(JSON.stringify(view)).not.toContain('secret');
  });
});
