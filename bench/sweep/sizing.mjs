// Pure: what one core carries, from the CPU that a request and an event cost.

/** Two significant digits: a third would say more than is known. */
const rough = (value) => Number(value.toPrecision(2)).toLocaleString('en-US');

/**
 * @param {{ sweeps: { prompts: object[], concurrency: object[] }, eventCpuMs: number }} sweep
 * @returns {[string, string][]} what, and how much of it in a second on one core
 */
export function sizing({ sweeps, eventCpuMs }) {
  const perCore = (cpuMs) => rough(1000 / cpuMs);
  const prompt = (kb) => sweeps.prompts.find(({ at }) => at === kb).gateway.cpuMs;
  const busy = sweeps.concurrency.find(({ at }) => at === 16).gateway.cpuMs;
  const streams = (perSecond) => rough(1000 / eventCpuMs / perSecond);
  return [
    ['requests a second, short prompt, one JSON answer', perCore(busy)],
    ['the same, prompts of 10 KB', perCore(prompt(10))],
    ['the same, prompts of 100 KB', perCore(prompt(100))],
    ['the same, prompts of 1 MB', perCore(prompt(1000))],
    ['streamed events a second', perCore(eventCpuMs)],
    ['open streams at 10 events a second each', streams(10)],
    ['open streams at 20 events a second each', streams(20)],
    ['open streams at 50 events a second each', streams(50)],
  ];
}

export function sizingTable(sweep) {
  const rows = sizing(sweep).map((cells) => `| ${cells.join(' | ')} |`);
  const { node, rounds, seconds } = sweep;
  return [
    '| What | On one core |',
    '| --- | --- |',
    ...rows,
    '',
    `Node ${node}, medians of ${rounds} rounds of ${seconds} s.`,
  ].join('\n');
}
