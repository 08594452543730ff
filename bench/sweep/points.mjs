// Pure: medians over the rounds.
import { median } from '../figures.mjs';

/** @param {Record<string, string>} names of targets, by the key under which their figures go */
export function pointsOf(results, names) {
  return Object.fromEntries(
    Object.entries(names).map(([key, name]) => {
      const middle = (figure) => Number(median(results.map((round) => round[name][figure])).toPrecision(4));
      const point = {
        cpuMs: middle('cpuPerRequest'),
        p50: middle('p50'),
        p99: middle('p99'),
        perSecond: middle('perSecond'),
      };
      return [key, point];
    }),
  );
}
