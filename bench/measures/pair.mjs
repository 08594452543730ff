// Two targets side by side, which most measures want.

/** Patient: what another program does to the machine shall show in a round, and not end the run by a refusal. */
export const GATEWAY = ['gateway', 'gateway.mjs', ['--patient']];
export const REFERENCE = ['a', 'reference.mjs'];

/** @returns the rounds of both. */
export async function pair(harness, first, second, flags, options) {
  const targets = [await harness.target(...first), await harness.target(...second)];
  const results = await harness.rounds(targets, flags, options);
  for (const target of targets) await target.stop();
  return results;
}
