/** The pictures of a sweep: places on an axis, and an SVG that a browser takes. */
import { evaluate } from './bench-module';

/** What is wrong with the tags of a document; null when they close as they open. */
function fault(xml: string): string | null {
  const open: string[] = [];
  const rest = xml.replace(
    /<(\/?)([a-z]+)((?: [a-zA-Z-]+="[^"<&]*")*)(\/?)>/g,
    (_, closes, name, __, ends) => {
      if (closes === '/' && open.pop() !== name) open.push(`closed ${name}`);
      else if (closes === '' && ends === '') open.push(name);
      return '';
    },
  );
  if (open.length > 0) return `open: ${open.join()}`;
  const stray = /[<>]|&(?!(?:amp|lt|gt|quot);)/.exec(rest);
  return stray === null ? null : `stray: ${rest.slice(stray.index, stray.index + 20)}`;
}

const target = (cpuMs: number, p50: number, p99: number) => ({ cpuMs, p50, p99, perSecond: 1 });
const SWEEP = {
  node: 'v20 <&>',
  rounds: 3,
  seconds: 1,
  eventCpuMs: 0.05,
  sweeps: {
    engines: [
      { at: 1, gateway: target(0.5, 10, 20), a: target(0.4, 8, 16) },
      { at: 4, gateway: target(0.6, 10, 30) },
      { at: 16, gateway: target(0.8, 12, 40) },
      { at: 64, gateway: target(1, 14, 100) },
    ],
    prompts: [
      { at: 1, gateway: target(0.5, 1, 2), a: target(0.4, 1, 2) },
      { at: 4000, gateway: target(50, 100, 200), a: target(90, 180, 300) },
    ],
  },
};
const pictures = evaluate<Record<string, string>>(
  'plots/sweep-pictures.mjs',
  `sweepPictures(${JSON.stringify(SWEEP)})`,
);

/** Marks of the gateway's first line: the CPU. */
const cpuMarks = (svg: string) => {
  const line = /<g class="first"><path class="line" d="M[^"]+L[^"]*"\/>(.*?)<\/g>/.exec(svg)?.[1] ?? '';
  return [...line.matchAll(/cx="([\d.]+)" cy="([\d.]+)"/g)].map(
    ([, x, y]) => [Number(x), Number(y)] as const,
  );
};

describe('an axis', () => {
  const scaled = (axis: object, value: number) =>
    evaluate<{ ticks: number[]; at: number }>(
      'plots/scale.mjs',
      `(() => { const { ticks, place } = scale(${JSON.stringify(axis)}); return { ticks, at: place(${value}) }; })()`,
    );

  test('of ordinary numbers begins at zero, and has round ticks around what was measured', () => {
    expect(scaled({ values: [3, 7.2], from: 300, to: 100 }, 2)).toEqual({ ticks: [0, 2, 4, 6, 8], at: 250 });
    expect(scaled({ values: [0.31, 0.28], from: 0, to: 1 }, 0).ticks).toEqual([0, 0.1, 0.2, 0.3, 0.4]);
  });

  test('of logarithms gives equal room to equal factors', () => {
    const axis = { values: [3, 70], log: true, from: 0, to: 100 };
    const { ticks, at } = scaled(axis, Math.sqrt(2 * 100));
    expect(ticks).toEqual([2, 5, 10, 20, 50, 100]);
    expect(at).toBeCloseTo(50);
  });

  test('of logarithms keeps to decades where the range is wide, and refuses zero', () => {
    expect(scaled({ values: [1, 40_000], log: true, from: 0, to: 1 }, 1).ticks).toEqual([
      1, 10, 100, 1000, 10_000,
    ]);
    expect(() => scaled({ values: [0, 1], log: true, from: 0, to: 1 }, 1)).toThrow(/no place for zero/);
  });
});

describe('a picture', () => {
  test.each(Object.entries(pictures))('%s is well-formed, and asks for nothing from elsewhere', (_, svg) => {
    expect(fault(svg)).toBeNull();
    expect(svg.replace('http://www.w3.org/2000/svg', '')).not.toMatch(/https?:|<script|@import|href|NaN/);
  });

  test('is there for each sweep', () => {
    expect(Object.keys(pictures)).toEqual(['engines.svg', 'prompts.svg']);
  });

  test('tells its figures in words, names its axes and units, and has colours for a dark page', () => {
    const svg = pictures['engines.svg']!;
    expect(svg).toMatch(/role="img" aria-labelledby="title desc"/);
    expect(svg).toContain('At 1: gateway 0.50 ms of CPU, median 10.0 ms, p99 20.0 ms; (a) 0.40 ms of CPU');
    expect(svg).toContain('>prefill and decode engines, pairs</text>');
    expect(svg).toContain('>ms, logarithmic</text>');
    expect(svg).toContain('@media (prefers-color-scheme: dark)');
    expect(svg).toContain('Node v20 &lt;&amp;&gt;');
    expect(pictures['prompts.svg']).toContain('>4 MB</text>');
  });

  test('puts points of equal factors at equal distances, and larger values higher', () => {
    const marks = cpuMarks(pictures['engines.svg']!);
    expect(marks).toHaveLength(4);
    const steps = marks.slice(1).map(([x], i) => x - marks[i]![0]);
    for (const step of steps) expect(step).toBeCloseTo(steps[0]!, 0);
    const heights = marks.map(([, y]) => y);
    expect(heights).toEqual([...heights].sort((a, b) => b - a));
    // From 0 at the bottom to 1 at the top: half of that is half of the way.
    expect(heights[0]).toBeCloseTo((heights[3]! + 360) / 2, 0);
  });

  test('is found out where it is not well-formed', () => {
    expect(fault('<svg><g></svg>')).not.toBeNull();
    expect(fault('<svg a="<"/>')).not.toBeNull();
    expect(fault('<svg>a & b</svg>')).not.toBeNull();
    expect(fault('<svg><g a="1"/>a &amp; b</svg>')).toBeNull();
  });
});
