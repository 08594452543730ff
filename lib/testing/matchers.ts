import type { StubFleet } from './stub-fleet';

/** What a matcher answers, as `expect.extend` of jest and vitest takes it. */
export interface MatcherResult {
  /** Whether it is so. */
  readonly pass: boolean;
  /** What to say when it should have been otherwise. */
  readonly message: () => string;
}

/**
 * Matcher: nothing that called the engines broke the rules of the wire.
 *
 * @example
 * ```ts
 * import { startStubFleet, toHaveNoBreaches } from 'express-narwhal/testing';
 *
 * expect.extend({ toHaveNoBreaches });
 * declare global {
 *   namespace jest {
 *     interface Matchers<R> {
 *       toHaveNoBreaches(): R;
 *     }
 *   }
 * }
 *
 * test('the wire is spoken as a real engine wants it', async () => {
 *   const fleet = await startStubFleet();
 *   // ... requests ...
 *   expect(fleet).toHaveNoBreaches();
 *   await fleet.close();
 * });
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
 * memory of a prefill engine until its lease ends. Declared for TypeScript like `toHaveNoBreaches`.
 *
 * @example
 * ```ts
 * import { toHaveNoOpenHandoffs } from 'express-narwhal/testing';
 *
 * expect.extend({ toHaveNoOpenHandoffs });
 * ```
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
