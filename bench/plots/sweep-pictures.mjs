// Pure: what a sweep measured, as pictures by file name.
import { picture } from './picture.mjs';

const OWNERS = [
  { key: 'gateway', name: 'gateway', style: 'first', shape: 'circle' },
  { key: 'a', name: '(a)', style: 'second', shape: 'square' },
];
const LEGEND = OWNERS.flatMap(({ name, style, shape }) => [
  { name: `${name}: CPU, and median latency`, style, shape },
  { name: `${name}: p99`, style, shape, dashed: true },
]);

const size = (kb) => (kb < 1000 ? `${kb} KB` : `${kb / 1000} MB`);

/** What each sweep is about. */
const SUBJECTS = {
  engines: { what: 'the number of engine pairs', label: 'prefill and decode engines, pairs' },
  prompts: { what: 'the size of the prompt', label: 'size of the prompt', name: size, log: true },
  concurrency: { what: 'the number of requests in flight', label: 'requests in flight' },
};

function lines(points, key, dashed) {
  return OWNERS.map((owner) => ({
    style: owner.style,
    shape: owner.shape,
    dashed,
    points: points.flatMap((point) => {
      const value = point[owner.key]?.[key];
      return value === undefined ? [] : [[point.at, value]];
    }),
  }));
}

/** The figures of a picture in words. */
function told(points, name) {
  return points
    .map((point) => {
      const figures = OWNERS.filter(({ key }) => point[key] !== undefined).map((owner) => {
        const { cpuMs, p50, p99 } = point[owner.key];
        return `${owner.name} ${cpuMs.toFixed(2)} ms of CPU, median ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`;
      });
      return `At ${name(point.at)}: ${figures.join('; ')}.`;
    })
    .join(' ');
}

/**
 * @param {{ node: string, rounds: number, seconds: number,
 *   sweeps: Record<string, { at: number, gateway: object, a?: object }[]> }} sweep
 * @returns {Record<string, string>} SVG documents by file name
 */
export function sweepPictures({ node, rounds, seconds, sweeps }) {
  const files = Object.entries(sweeps).map(([key, points]) => {
    const { what, label, log = false, name = String } = SUBJECTS[key];
    const ticks = points.map(({ at }) => at);
    const x = { label, ticks, names: ticks.map(name) };
    const svg = picture({
      title: `CPU and latency of a request over ${what}`,
      desc: `Two diagrams with the gateway and the reference (a). ${told(points, name)}`,
      legend: LEGEND,
      panels: [
        {
          title: 'CPU for a request',
          x,
          y: { label: log ? 'ms, logarithmic' : 'ms', log },
          series: lines(points, 'cpuMs', false),
        },
        {
          title: 'Latency',
          x,
          y: { label: 'ms, logarithmic', log: true },
          series: [...lines(points, 'p50', false), ...lines(points, 'p99', true)],
        },
      ],
      foot: `Medians of ${rounds} rounds, ${seconds} s each, Node ${node}`,
    });
    return [`${key}.svg`, svg];
  });
  return Object.fromEntries(files);
}
