// Pure: numbers to places on an axis, and the ticks of the axis.

const STEPS = [1, 2, 5, 10];

/** Numbers of the row 1, 2, 5, 10, 20, 50 .. that lie around a range. */
function roundLogTicks(min, max) {
  const ticks = [];
  for (let power = Math.floor(Math.log10(min)); 10 ** power <= max * 10; power++) {
    for (const step of STEPS.slice(0, 3)) ticks.push(Number((step * 10 ** power).toPrecision(1)));
  }
  const first = ticks.findLastIndex((tick) => tick <= min);
  const last = ticks.findIndex((tick) => tick >= max);
  return ticks.slice(Math.max(0, first), last + 1);
}

/** Zero and up to six round steps to at least `max`. */
function roundTicks(max) {
  const raw = max / 5;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = STEPS.find((one) => one * power >= raw) * power;
  const count = Math.ceil(max / step - 1e-9);
  return Array.from({ length: count + 1 }, (_, i) => Number((i * step).toPrecision(6)));
}

/** At most so many ticks have a label beside them. */
const MOST_LABELS = 8;

/**
 * @param {{ values: number[], log?: boolean, ticks?: number[], from: number, to: number }} axis `values` that
 *   must find a place between the pixels `from` and `to`; `ticks` where they are given
 * @returns {{ ticks: number[], place: (value: number) => number }}
 */
export function scale({ values, log = false, ticks, from, to }) {
  const lowest = Math.min(...values);
  const highest = Math.max(...values);
  if (log && !(lowest > 0)) throw new Error('a logarithmic axis has no place for zero');
  const all = ticks ?? (log ? roundLogTicks(lowest, highest) : roundTicks(highest));
  const map = log ? Math.log10 : (value) => value;
  const [first, last] = [map(all[0]), map(all.at(-1))];
  const place = (value) =>
    from + (last === first ? 0.5 : (map(value) - first) / (last - first)) * (to - from);
  const isDecade = (tick) => Number.isInteger(Math.log10(tick));
  const shown = ticks === undefined && log && all.length > MOST_LABELS ? all.filter(isDecade) : all;
  return { ticks: shown, place };
}
