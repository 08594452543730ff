/** One engine as the router sees it: its address, the work in it, whether it takes more. */
import type { EngineConfig } from '../config/fleet-config';

/** Why an engine takes no new work; null when it does. */
export type OutOfPlacement = 'ejected' | 'drained' | null;

/** Mutable state of one engine. Only the fleet and the monitor write it. */
export class Engine {
  readonly config: EngineConfig;
  /** Tokens of prompts that wait for, or are in, this engine's prefill. */
  prefillTokens = 0;
  /** Prefill legs in flight. */
  prefills = 0;
  /** Decode legs (and single legs) in flight. */
  decodes = 0;
  outOfPlacement: OutOfPlacement = null;
  /** Monotonic ms until which an overloaded engine is left alone. */
  coolUntil = 0;

  constructor(config: EngineConfig) {
    this.config = config;
  }

  get iid(): string {
    return this.config.iid;
  }

  get isLive(): boolean {
    return this.outOfPlacement === null;
  }
}
