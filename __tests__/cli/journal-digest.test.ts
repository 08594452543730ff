/** Percentiles of a stream in bounded memory. */
import fc from 'fast-check';
import { Digest } from '../../lib/cli/journal/digest';

function exact(numbers: readonly number[], share: number): number {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.max(1, Math.ceil(share * sorted.length)) - 1]!;
}

describe('a digest', () => {
  test('is off by at most 1 % from the exact percentile, whatever the numbers', () => {
    const numbers = fc.array(fc.double({ min: 1e-5, max: 1e4, noNaN: true }), {
      minLength: 1,
      maxLength: 300,
    });
    fc.assert(
      fc.property(numbers, fc.constantFrom(0, 0.5, 0.9, 0.99, 1), (values, share) => {
        const digest = new Digest();
        for (const value of values) digest.add(value);
        const [found] = digest.quantiles([share]);
        const right = exact(values, share);
        expect(Math.abs(found! - right)).toBeLessThanOrEqual(0.01 * right);
      }),
      { examples: [[[0.000012526517830083848], 0]] },
    );
  });

  test('leaves out what is no number', () => {
    const digest = new Digest();
    for (const value of [null, undefined, Number.NaN, Number.POSITIVE_INFINITY, '5']) digest.add(value);
    expect(digest.count).toBe(0);
    expect(digest.quantiles([0.5])).toEqual([null]);
  });

  test('counts zero and less as the smallest number', () => {
    const digest = new Digest();
    for (const value of [0, -1, 1]) digest.add(value);
    expect(digest.quantiles([0.5])[0]).toBeCloseTo(0, 5);
  });
});
