/** Times of requests in fixed memory: counts by bucket, each bucket 9 % above the one before. */
import type { Spread } from './frame';

const PER_DOUBLING = 8;

/** Lower bound of the first bucket, seconds. */
const LOWEST_S = 50e-6;

/** Up to 50 us * 2^25: 28 minutes. What is longer is counted in the last one. */
const BUCKETS = PER_DOUBLING * 25;

const HIGH = 0.95;

/** Counts of times by bucket. */
export class TimeCounts {
  readonly counts = new Uint32Array(BUCKETS);
  total = 0;

  note(seconds: number): void {
    const bucket = Math.floor(Math.log2(seconds / LOWEST_S) * PER_DOUBLING);
    // Zero is minus infinity here.
    this.counts[Math.min(Math.max(bucket, 0), BUCKETS - 1)]! += 1;
    this.total++;
  }

  clear(): void {
    if (this.total === 0) return;
    this.counts.fill(0);
    this.total = 0;
  }
}

/** Median and 95th percentile of several counts together, exact to 5 %. */
export function spreadOf(parts: readonly TimeCounts[]): Spread {
  const filled = parts.filter(({ total }) => total > 0);
  const total = filled.reduce((sum, part) => sum + part.total, 0);
  return total === 0 ? null : [quantile(filled, total, 0.5), quantile(filled, total, HIGH)];
}

function quantile(parts: readonly TimeCounts[], total: number, share: number): number {
  const rank = Math.ceil(share * total);
  let seen = 0;
  let bucket = 0;
  for (; bucket < BUCKETS - 1; bucket++) {
    for (const { counts } of parts) seen += counts[bucket]!;
    if (seen >= rank) break;
  }
  const seconds = LOWEST_S * 2 ** ((bucket + 0.5) / PER_DOUBLING);
  return Number(seconds.toPrecision(3));
}
