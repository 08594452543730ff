/** Two curves over the last minutes, drawn as SVG. */

const SVG = 'http://www.w3.org/2000/svg';

/** The drawing's own units; the style stretches it to its place. */
const WIDTH = 300;
const HEIGHT = 100;

/** Room above the highest point, so that no line is cut. */
const MARGIN = 4;

/** Bins without a value over which a curve goes on. */
const BRIDGED = 2;

/** @typedef {(number | null)[]} Values */

/**
 * @typedef {object} Curve
 * @property {string} name
 * @property {string} now the value that stands beside the name
 * @property {Values} values oldest first
 */

/**
 * @typedef {object} Chart
 * @property {(curves: [Curve, Curve], top: (value: number) => string, empty: string) => void} draw
 */

/** Fills a figure. @param {string} id @param {[string, string]} names @returns {Chart} */
function makeChart(id, names) {
  const figure = byId(id);
  const legend = make('p', 'legend');
  const values = names.map((name, at) => {
    const item = make('span');
    const value = make('b', '', NONE);
    item.append(
      drawing('0 0 22 8', [shape(at === 0 ? 'curve first' : 'curve second', 'M1 4H21')]),
      `${name} `,
      value,
    );
    legend.append(item);
    return value;
  });
  const paths = [shape('curve first', ''), shape('curve second', '')];
  const rules = [MARGIN, HEIGHT / 2 + MARGIN / 2, HEIGHT].map((y) => shape('grid', `M0 ${y}H${WIDTH}`));
  const svg = drawing(`0 0 ${WIDTH} ${HEIGHT}`, [...rules, ...paths]);
  svg.removeAttribute('aria-hidden');
  svg.setAttribute('role', 'img');
  const topValue = make('span', 'top-value');
  const nothing = make('p', 'empty', 'No data yet.');
  const plot = make('div', 'plot');
  plot.append(svg, topValue, nothing);
  const axis = make('p', 'axis');
  axis.append(make('span', '', '5 min ago'), make('span', '', 'now'));
  figure.querySelector('figcaption')?.append(legend);
  figure.append(plot, axis);
  const title = figure.querySelector('h3')?.textContent ?? '';
  setAttribute(svg, 'aria-label', `${title}: no data yet`);
  return {
    draw(curves, top, empty) {
      const known = curves.flatMap((curve) => curve.values).filter((value) => value !== null);
      const ceiling = niceCeiling(Math.max(0, ...known));
      curves.forEach(({ now, values: points }, at) => {
        paths[at]?.setAttribute('d', pathOf(points, ceiling));
        const value = values[at];
        if (value !== undefined) setText(value, now);
      });
      setText(topValue, known.length === 0 ? '' : top(ceiling));
      setText(nothing, empty);
      nothing.hidden = known.length > 0;
      const lately = curves.map(({ name, now }) => `${name} ${now}`).join(', ');
      const most = known.length === 0 ? '' : `; highest ${top(Math.max(...known))}`;
      setAttribute(
        svg,
        'aria-label',
        known.length === 0 ? `${title}: ${empty}` : `${title}: ${lately}${most}`,
      );
    },
  };
}

/** @param {string} box @param {SVGElement[]} shapes */
function drawing(box, shapes) {
  const svg = document.createElementNS(SVG, 'svg');
  svg.setAttribute('viewBox', box);
  svg.setAttribute('preserveAspectRatio', 'none');
  svg.setAttribute('aria-hidden', 'true');
  svg.append(...shapes);
  return svg;
}

/** @param {string} kind @param {string} d @returns {SVGElement} */
function shape(kind, d) {
  const path = document.createElementNS(SVG, 'path');
  path.setAttribute('class', kind);
  path.setAttribute('d', d);
  return path;
}

/** A round number, at least `value`. @param {number} value */
function niceCeiling(value) {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  const step = [1, 1.5, 2, 3, 4, 5, 6, 8, 10].find((factor) => factor * power >= value * 0.999) ?? 10;
  return step * power;
}

/** @param {Values} values @param {number} ceiling */
function pathOf(values, ceiling) {
  let path = '';
  let gap = BRIDGED + 1;
  values.forEach((value, at) => {
    if (value === null) {
      gap++;
      return;
    }
    const x = ((at / (values.length - 1)) * WIDTH).toFixed(1);
    const y = (HEIGHT - (value / ceiling) * (HEIGHT - MARGIN)).toFixed(1);
    // A point alone is a line of no length: its round ends make it a dot.
    path += gap > BRIDGED ? `M${x} ${y}h0.01` : `L${x} ${y}`;
    gap = 0;
  });
  return path;
}
