/** Pure: the straight line through noisy points, whatever a third of them says. */

/** One observation: seconds for so much work. */
export type Point = readonly [work: number, seconds: number];

/** `seconds = base + slope * work`; neither is below zero. */
export interface Line {
  readonly base: number;
  readonly slope: number;
}

/** Least pairs of points of different size that a slope is read from. */
const MIN_PAIRS = 8;
/** Two sizes nearer than this share of the larger one say nothing about the slope. */
const MIN_SPREAD = 0.2;

/**
 * Fits a line by medians (Theil and Sen): up to 29 % of the points may lie anywhere.
 *
 * @param points at least one.
 * @returns a line through the origin where all points are of about one size.
 */
export function fitLine(points: readonly Point[]): Line {
  const slopes: number[] = [];
  for (let i = 0; i < points.length; i++) {
    for (let j = 0; j < i; j++) {
      const [a, b] = [points[i]!, points[j]!];
      const step = a[0] - b[0];
      if (Math.abs(step) > MIN_SPREAD * Math.max(a[0], b[0])) slopes.push((a[1] - b[1]) / step);
    }
  }
  if (slopes.length < MIN_PAIRS) return throughOrigin(points);
  const slope = median(slopes);
  if (slope <= 0) return { base: median(points.map(([, seconds]) => seconds)), slope: 0 };
  const base = median(points.map(([work, seconds]) => seconds - slope * work));
  return base < 0 ? throughOrigin(points) : { base, slope };
}

function throughOrigin(points: readonly Point[]): Line {
  return { base: 0, slope: median(points.map(([work, seconds]) => seconds / Math.max(work, 1))) };
}

/** The middle value; NaN for an empty list. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  if (sorted.length % 2 === 1) return sorted[middle]!;
  return (sorted[middle - 1]! + sorted[middle]!) / 2;
}
