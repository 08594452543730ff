// One pair of axes with lines on it, as SVG.
import { scale } from './scale.mjs';

const ESCAPES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** Text that means nothing to XML. @param {unknown} text */
export function escaped(text) {
  return String(text).replace(/[&<>"]/g, (sign) => ESCAPES[sign]);
}

const px = (value) => Number(value.toFixed(1));

/** A mark at a point: its shape says whose it is to those who see no colours. */
export function marker(shape, x, y) {
  const at = [px(x), px(y)];
  if (shape === 'square')
    return `<rect class="mark" x="${px(x - 4)}" y="${px(y - 4)}" width="8" height="8"/>`;
  return `<circle class="mark" cx="${at[0]}" cy="${at[1]}" r="4.5"/>`;
}

/**
 * @param {{
 *   title: string,
 *   x: { label: string, ticks: number[], names?: string[] },
 *   y: { label: string, log?: boolean },
 *   series: { style: string, shape: string, dashed?: boolean, points: [number, number][] }[],
 *   box: { left: number, top: number, width: number, height: number },
 * }} panel the x axis is logarithmic, with a tick for each value that was measured
 */
export function panel({ title, x, y, series, box }) {
  const { left, top, width, height } = box;
  const [right, bottom] = [left + width, top + height];
  const across = scale({ values: x.ticks, log: true, ticks: x.ticks, from: left + 12, to: right - 12 });
  const values = series.flatMap(({ points }) => points.map(([, value]) => value));
  const up = scale({ values, log: y.log, from: bottom, to: top });
  const parts = [`<text class="head" x="${left}" y="${top - 34}">${escaped(title)}</text>`];
  parts.push(`<text class="soft" x="${left}" y="${top - 14}">${escaped(y.label)}</text>`);
  for (const tick of up.ticks) {
    const at = px(up.place(tick));
    parts.push(`<path class="rule" d="M${left} ${at}H${right}"/>`);
    parts.push(`<text class="soft end" x="${left - 8}" y="${px(at + 4)}">${tick}</text>`);
  }
  for (const [i, tick] of x.ticks.entries()) {
    const at = px(across.place(tick));
    parts.push(`<path class="axis" d="M${at} ${bottom}v5"/>`);
    parts.push(
      `<text class="soft middle" x="${at}" y="${bottom + 20}">${escaped(x.names?.[i] ?? tick)}</text>`,
    );
  }
  parts.push(`<path class="axis" d="M${left} ${bottom}H${right}"/>`);
  parts.push(
    `<text class="soft middle" x="${left + width / 2}" y="${bottom + 42}">${escaped(x.label)}</text>`,
  );
  for (const { style, shape, dashed, points } of series) {
    const placed = points.map(([a, b]) => [across.place(a), up.place(b)]);
    const line = placed.map(([a, b]) => `${px(a)} ${px(b)}`).join('L');
    const marks = placed.map(([a, b]) => marker(shape, a, b)).join('');
    parts.push(`<g class="${style}"><path class="line${dashed ? ' dashed' : ''}" d="M${line}"/>${marks}</g>`);
  }
  return parts.join('\n  ');
}
