// Pure: figures of rounds to one figure with its spread.

/** The middle value; of an even number, the mean of the two in the middle. @param {number[]} values */
export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** @param {number[]} values one for each round */
export function summary(values) {
  return { value: median(values), min: Math.min(...values), max: Math.max(...values) };
}

/**
 * A figure of one target divided by the same figure of another, pair by pair within a round: what the machine
 * does to both in one round falls out, what it does between rounds cannot come in.
 */
export function ratio(results, figure, target, reference) {
  return summary(results.map((round) => round[target][figure] / round[reference][figure]));
}

/** Every second round visits the targets from the other end, so that no target always follows the same one. */
export function orderOf(targets, round) {
  return round % 2 === 0 ? targets : [...targets].reverse();
}
