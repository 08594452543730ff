// Two targets side by side, which most measures want.

/** Patient: what another program does to the machine shall show in a round, and not end the run by a refusal. */
export const GATEWAY = ['gateway', 'gateway.mjs', ['--patient']];
export const REFERENCE = ['a', 'reference.mjs'];

/**
 * @param {{ small?: number }} options small: short requests that each target answers before anything else. A
 *   measure whose own requests are slow would take minutes to have the code compiled that all of them share.
 * @returns the rounds of both.
 */
export async function pair(harness, first, second, flags, { small = 0, ...options }) {
  const targets = [await harness.target(...first), await harness.target(...second)];
  if (small > 0) for (const target of targets) await harness.warm(target, ['--clients', 16], small);
  const results = await harness.rounds(targets, flags, options);
  for (const target of targets) await target.stop();
  return results;
}
