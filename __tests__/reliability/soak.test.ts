/** A short storm with a fixed seed: `npm run soak` is the long one. */
import { runScript } from './child';

interface Result {
  readonly ok: boolean;
  readonly counts: { readonly requests: number; readonly rows: number };
  readonly invariants: Record<string, { readonly ok: boolean; readonly detail: string }>;
}

it('five hundred requests in a storm of failing engines break no invariant', async () => {
  const storm = runScript('bench/soak.mjs', ['--requests', '500', '--seed', '7', '--json']);
  const [code] = await storm.exit();
  const { ok, counts, invariants } = JSON.parse(storm.output()) as Result;
  expect(Object.entries(invariants).filter(([, invariant]) => !invariant.ok)).toEqual([]);
  expect(Object.keys(invariants).length).toBeGreaterThanOrEqual(12);
  expect(counts.requests).toBe(500);
  expect(ok).toBe(true);
  expect(code).toBe(0);
}, 120_000);
