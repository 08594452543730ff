/** How rounds become figures. */
import { evaluate } from './bench-module';

describe('median', () => {
  test.each([
    ['[3, 1, 2]', 2],
    ['[10, 9, 100]', 10],
    ['[4, 1, 3, 2]', 2.5],
    ['[7]', 7],
  ])('of %s is %d', (values, middle) => {
    expect(evaluate('figures.mjs', `median(${values})`)).toBe(middle);
  });
});

describe('ratio', () => {
  test('divides within each round, and takes the median of that with its spread', () => {
    const rounds = [
      { gateway: { cpu: 2 }, a: { cpu: 1 } },
      { gateway: { cpu: 30 }, a: { cpu: 10 } },
      { gateway: { cpu: 4 }, a: { cpu: 4 } },
    ];
    const made = evaluate('figures.mjs', `ratio(${JSON.stringify(rounds)}, 'cpu', 'gateway', 'a')`);
    // The ratio of the medians would be 4 / 4.
    expect(made).toEqual({ value: 2, min: 1, max: 3 });
  });
});

test('every second round visits the targets from the other end', () => {
  const orders = evaluate(
    'figures.mjs',
    `[0, 1, 2].map((round) => orderOf(['a', 'b', 'c'], round).join(''))`,
  );
  expect(orders).toEqual(['abc', 'cba', 'abc']);
});

test('as many streams are opened as fit under the limit of open files', () => {
  const fit = evaluate('measures/many.mjs', '[1e6, 20_400, 20_000, 1024, 100].map(streamsThatFit)');
  expect(fit).toEqual([10_000, 8200, 8000, 0, 0]);
});

test('what one core carries is made of the CPU that a request and an event cost', () => {
  const at = (cpuMs: number) => ({ gateway: { cpuMs } });
  const sweep = {
    eventCpuMs: 0.05,
    sweeps: {
      concurrency: [
        { at: 1, ...at(9) },
        { at: 16, ...at(0.5) },
      ],
      prompts: [
        { at: 10, ...at(1) },
        { at: 100, ...at(3) },
        { at: 1000, ...at(20) },
      ],
    },
  };
  const rows = evaluate<[string, string][]>('sweep/sizing.mjs', `sizing(${JSON.stringify(sweep)})`);
  expect(rows.map(([, carried]) => carried)).toEqual([
    ...['2,000', '1,000', '330', '50'],
    ...['20,000', '2,000', '1,000', '400'],
  ]);
});
