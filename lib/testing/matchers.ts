import type { StubFleet } from './stub-fleet';

/** What a matcher answers, as `expect.extend` of jest and vitest takes it. */
export interface MatcherResult {
  readonly pass: boolean;
  readonly message: () => string;
}

/**
 * Matcher: nothing that called the engines broke the rules of the wire.
 *
 * ```ts
 * expect.extend({ toHaveNoBreaches });
 * expect(fleet).toHaveNoBreaches();
 * ```
 */
export function toHaveNoBreaches({ breaches }: Pick<StubFleet, 'breaches'>): MatcherResult {
  return {
    pass: breaches.length === 0,
    message: () =>
      breaches.length === 0
        ? 'expected the wire to be breached, but it was not'
        : `expected no breach of the wire, but there were ${breaches.length}:\n  ${breaches.join('\n  ')}`,
  };
}

/**
 * Matcher: every handoff that was produced has been claimed, released or run out. One that is open holds
 * memory of a prefill engine until its lease ends.
 */
export function toHaveNoOpenHandoffs({ ledger }: Pick<StubFleet, 'ledger'>): MatcherResult {
  const { open } = ledger;
  const list = open.map(({ iid, requestId }) => `on ${iid}, made by ${requestId}`);
  return {
    pass: open.length === 0,
    message: () =>
      open.length === 0
        ? 'expected open handoffs, but there are none'
        : `expected no open handoff, but there are ${open.length}:\n  ${list.join('\n  ')}`,
  };
}
