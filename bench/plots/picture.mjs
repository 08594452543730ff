// A whole SVG: panels side by side, a legend, words for those who do not see it, colours for light and dark.
import { escaped, marker, panel } from './panel.mjs';

const [WIDTH, HEIGHT] = [960, 440];
const [PANEL_WIDTH, PANEL_HEIGHT] = [390, 250];
const LEFTS = [62, 546];
const TOP = 110;

const STYLE = `
    .page { fill: #ffffff; }
    .head { fill: #1b2330; font-weight: 600; font-size: 16px; }
    .soft { fill: #4d5a6b; font-size: 13px; }
    .rule { stroke: #dde3ea; stroke-width: 1; }
    .axis { stroke: #4d5a6b; stroke-width: 1.2; fill: none; }
    .line { fill: none; stroke: currentColor; stroke-width: 2.2; }
    .dashed { stroke-dasharray: 6 4; }
    .mark { fill: currentColor; }
    .first { color: #0b6e99; }
    .second { color: #a34a00; }
    .middle { text-anchor: middle; }
    .end { text-anchor: end; }
    @media (prefers-color-scheme: dark) {
      .page { fill: #10151c; }
      .head { fill: #e6ebf1; }
      .soft { fill: #aeb9c6; }
      .rule { stroke: #2a3441; }
      .axis { stroke: #aeb9c6; }
      .first { color: #5cc4ee; }
      .second { color: #ffa35c; }
    }`;

function legend(entries) {
  let x = LEFTS[0];
  return entries.map(({ name, style, shape, dashed }) => {
    const at = x;
    // About the width of a letter, and the room of the mark and of a gap.
    x += name.length * 7.2 + 74;
    const line = `<path class="line${dashed ? ' dashed' : ''}" d="M${at} 34h36"/>${marker(shape, at + 18, 34)}`;
    return `<g class="${style}">${line}</g><text class="soft" x="${at + 44}" y="39">${escaped(name)}</text>`;
  });
}

/**
 * @param {{ title: string, desc: string, legend: object[], panels: object[], foot: string }} picture two panels,
 *   as `panel()` takes them, without their boxes
 * @returns {string} an SVG document
 */
export function picture({ title, desc, legend: entries, panels, foot }) {
  const drawn = panels.map((one, i) =>
    panel({ ...one, box: { left: LEFTS[i], top: TOP, width: PANEL_WIDTH, height: PANEL_HEIGHT } }),
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-labelledby="title desc" font-family="system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif">
  <title id="title">${escaped(title)}</title>
  <desc id="desc">${escaped(desc)}</desc>
  <style>${STYLE}
  </style>
  <rect class="page" width="${WIDTH}" height="${HEIGHT}"/>
  ${[...legend(entries), ...drawn].join('\n  ')}
  <text class="soft" x="${LEFTS[0]}" y="${HEIGHT - 12}">${escaped(foot)}</text>
</svg>
`;
}
