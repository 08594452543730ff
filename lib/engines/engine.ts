/** One engine as the router sees it: its address, the work in it, whether it takes more. */
import type { EngineConfig } from '../config/fleet-config';
import { type BreakerState, type FailureClass, TRUSTED } from './breaker';
import { HandoffTally } from './handoff-tally';
import { EngineSpeed } from './speed';

/** Why an engine takes no new work; null when it does. */
export type OutOfPlacement = 'ejected' | 'drained' | null;

/** Classes of failures that are counted: those of the breaker, and a key that the engine did not accept. */
export type CountedClass = FailureClass | 'auth';

/** Mutable state of one engine. The fleet counts its work, `Health` its state. */
export class Engine {
  readonly config: EngineConfig;
  /** Tokens of prompts that wait for, or are in, this engine's prefill. */
  prefillTokens = 0;
  /** Prefill legs in flight. */
  prefills = 0;
  /** Decode legs (and single legs) in flight. */
  decodes = 0;
  /** Handoffs that it made for this router, and what became of them. */
  readonly handoffs = new HandoffTally();
  /** How fast it works, as far as its legs have shown. */
  readonly speed = new EngineSpeed();
  breaker: BreakerState = TRUSTED;
  /** Failed legs and missed liveness probes since the start, by class. */
  readonly failures: Record<CountedClass, number> = {
    connection: 0,
    timeout: 0,
    overload: 0,
    inference_status: 0,
    kv_handoff: 0,
    stream: 0,
    liveness: 0,
    auth: 0,
  };
  /** How often it was ejected. */
  ejections = 0;
  /** An operator has taken it out of placement. */
  isDrained = false;
  /** Monotonic ms until which an overloaded engine is left alone. */
  coolUntil = 0;

  constructor(config: EngineConfig) {
    this.config = config;
  }

  get iid(): string {
    return this.config.iid;
  }

  get outOfPlacement(): OutOfPlacement {
    if (this.isDrained) return 'drained';
    return this.breaker.kind === 'ejected' ? 'ejected' : null;
  }

  get isLive(): boolean {
    return !this.isDrained && this.breaker.kind !== 'ejected';
  }
}
