import type { BreachLog } from './breach-log';
import type { Generation } from './generation';
import type { HandoffLedger } from './handoff-ledger';
import type { PlayContext } from './play';
import type { EngineFacts } from './refusals';
import type { StubCall } from './stub-call';
import type { StubScript } from './stub-script';
import type { Wire } from './wire';

/** What the engines of one fleet share. */
export interface FleetState {
  readonly facts: EngineFacts;
  readonly ledger: HandoffLedger;
  readonly log: BreachLog;
  readonly seenIds: Set<string>;
  readonly leaseMs: number;
  readonly prefillDelayMs: number;
  readonly tokenDelayMs: number;
  readonly deadProducer: 'fail' | 'recompute';
  readonly generate: ((call: StubCall) => Generation | readonly Generation[]) | undefined;
  /** The id that an engine has now, or null while it is stopped. */
  readonly engineId: (iid: string) => string | null;
}

/** One call on its way to an answer. */
export interface Turn {
  readonly fleet: FleetState;
  readonly call: StubCall;
  readonly wire: Wire;
  readonly script: StubScript;
  /** Id of the engine process that answers. */
  readonly engineId: string;
  readonly inFlight: number;
}

/** How this turn's answer is written. */
export function contextOf({ wire, call, script, fleet }: Turn): PlayContext {
  return { wire, call, script, frameDelayMs: script.frameDelayMs ?? fleet.tokenDelayMs };
}
