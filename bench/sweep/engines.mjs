import { pointsOf } from './points.mjs';

/** Pairs of engines that a gateway knows. They share the two ports: it is the choice among them that may cost. */
const PAIRS = [1, 4, 16, 64];

/** (a) knows two engines only, and is measured at one pair. */
export async function engines(harness, options) {
  await harness.engines({ n: 8, interval: -1 });
  const gateways = [];
  for (const pairs of PAIRS) {
    gateways.push(await harness.target(`gateway ${pairs}`, 'gateway.mjs', ['--patient', '--engines', pairs]));
  }
  const reference = await harness.target('a', 'reference.mjs');
  const targets = [...gateways, reference];
  const results = await harness.rounds(targets, ['--clients', 16], options);
  for (const target of targets) await target.stop();
  return PAIRS.map((at) => {
    const names = at === 1 ? { gateway: `gateway ${at}`, a: 'a' } : { gateway: `gateway ${at}` };
    return { at, ...pointsOf(results, names) };
  });
}
