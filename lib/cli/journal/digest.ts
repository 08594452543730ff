/** Percentiles of a stream of numbers in bounded memory. */

/** Neighbouring buckets differ by 1.9 %: half of it and the rounding to four digits are less than 1 %. */
const GROWTH = 1.019;
const LOG_GROWTH = Math.log(GROWTH);
/** Smaller numbers count as this: a microsecond, where numbers are seconds. */
const SMALLEST = 1e-6;

/** A histogram with logarithmic buckets: about 1500 of them from a microsecond to eleven days. */
export class Digest {
  readonly #buckets = new Map<number, number>();
  count = 0;

  /** Anything but a number is left out. */
  add(value: unknown): void {
    if (typeof value !== 'number' || !Number.isFinite(value)) return;
    const bucket = Math.ceil(Math.log(Math.max(value, SMALLEST)) / LOG_GROWTH);
    this.#buckets.set(bucket, (this.#buckets.get(bucket) ?? 0) + 1);
    this.count++;
  }

  /**
   * @param shares each from 0 to 1.
   * @returns a number for each share that so many are not above; null where nothing was added.
   */
  quantiles(shares: readonly number[]): (number | null)[] {
    if (this.count === 0) return shares.map(() => null);
    const buckets = [...this.#buckets].sort(([a], [b]) => a - b);
    return shares.map((share) => {
      const rank = Math.max(1, Math.ceil(share * this.count));
      let seen = 0;
      for (const [bucket, number] of buckets) {
        seen += number;
        if (seen >= rank) return middle(bucket);
      }
      return null;
    });
  }
}

/** The number of a bucket that is less than 1 % from all others of it. */
function middle(bucket: number): number {
  return Number(((2 * GROWTH ** bucket) / (GROWTH + 1)).toPrecision(4));
}
