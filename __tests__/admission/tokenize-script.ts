/** Engines that answer `/tokenize` as told, and everything else well. */
import type { StubCall, StubScript } from '../../lib/testing';

/** How `/tokenize` is answered: with a count, or with a fault. */
export interface TokenizeScript extends Omit<StubScript, 'leg'> {
  readonly count?: number;
  /** A leg that is answered with `status`, in place of `/tokenize`. */
  readonly leg?: 'prefill';
}

export function mixedScript({
  count,
  leg,
  ...fault
}: TokenizeScript): (call: StubCall) => StubScript | undefined {
  return (call) => {
    if (call.leg === 'tokenize') return count === undefined ? fault : { body: { count, tokens: [] } };
    return leg === call.leg ? fault : undefined;
  };
}
