import fc from 'fast-check';
import { retryAfterSeconds } from '../../lib/serving/retry-after';

const NOW = Date.UTC(2026, 0, 1, 12, 0, 0);

describe('Retry-After', () => {
  test.each([
    ['0', 0],
    ['1', 1],
    ['7', 7],
    [' 7 ', 7],
    ['2.5', 2.5],
    ['60', 60],
    ['61', 60],
    ['999999999999', 60],
    ['-1', 0],
    ['-999999999', 0],
    ['Thu, 01 Jan 2026 12:00:10 GMT', 10],
    ['Thursday, 01-Jan-26 12:00:20 GMT', 20],
    ['Thu Jan  1 12:00:30 2026', 30],
    ['Thu, 01 Jan 2026 12:00:00 GMT', 0],
    ['Thu, 01 Jan 1970 00:00:00 GMT', 0],
    ['Fri, 01 Jan 2100 00:00:00 GMT', 60],
  ])('%j is %s seconds', (header, seconds) => {
    expect(retryAfterSeconds(header, NOW)).toBe(seconds);
  });

  test.each([undefined, '', '   ', 'soon', 'in 5', '5 s', 'NaN', 'Infinity', '--3', '1e', 'Thu, 99 Foo'])(
    '%j says nothing',
    (header) => {
      expect(retryAfterSeconds(header, NOW)).toBeUndefined();
    },
  );

  test('counts once: the first of several', () => {
    expect(retryAfterSeconds(['3', '9'], NOW)).toBe(3);
    expect(retryAfterSeconds([], NOW)).toBeUndefined();
  });

  test('is nothing, or from 0 to 60, whatever was sent', () => {
    fc.assert(
      fc.property(fc.string(), (header) => {
        const seconds = retryAfterSeconds(header, NOW);
        if (seconds === undefined) return;
        expect(seconds).toBeGreaterThanOrEqual(0);
        expect(seconds).toBeLessThanOrEqual(60);
      }),
    );
  });
});
