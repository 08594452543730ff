/** What is known of each engine's health: evidence in, engines out of and back into placement. */
import type { FleetConfig } from '../config/fleet-config';
import type { Logger } from '../logger';
import type { OutcomeName } from '../outcomes';
import {
  afterEvidence,
  type BreakerRules,
  type Evidence,
  type FailureClass,
  mayReturn,
  readmit,
  TRUSTED,
} from './breaker';
import type { Engine } from './engine';
import type { EngineFault } from './fault';

/** The class that a fault is evidence of; faults without a class say nothing about the engine. */
const CLASSES: Partial<Record<OutcomeName, FailureClass>> = {
  engineUnreachable: 'connection',
  engineConnection: 'connection',
  engineTimeout: 'timeout',
  engineOverloaded: 'overload',
  engineError: 'inference_status',
  engineAuth: 'inference_status',
  badHandoff: 'kv_handoff',
  badAnswer: 'stream',
};

/** How long an engine that asks for time is left alone, in seconds: what it says, at most this. */
const MAX_COOL_S = 5;
const DEFAULT_COOL_S = 1;

/** Keeps the health of a fleet's engines. */
export class Health {
  readonly rules: BreakerRules;
  readonly #engines: readonly Engine[];
  readonly #logger: Logger | null;
  readonly #now: () => number;
  /** What to do about a key that an engine does not accept. */
  readonly #keyHint: string;

  /** @param now monotonic ms; injected in tests. */
  constructor(engines: readonly Engine[], config: FleetConfig, logger: Logger | null, now: () => number) {
    const { ejectAfter, livenessMisses, failureQuarantineS } = config.recovery;
    this.rules = { ejectAfter, livenessMisses, failureQuarantineS };
    this.#keyHint =
      config.engine.apiKey === null
        ? 'it asks for one: name the variable that holds it in engine.engine_api_key_env of the fleet file'
        : 'put the value of its --api-key into the variable that engine.engine_api_key_env names';
    this.#engines = engines;
    this.#logger = logger;
    this.#now = now;
  }

  /** A leg ended well. */
  succeeded(engine: Engine): void {
    // Nothing to learn of an engine that is trusted already: the case of nearly every leg.
    if (engine.breaker === TRUSTED) return;
    this.#take(engine, { kind: 'success' });
  }

  /**
   * A leg failed.
   *
   * @param hadBegun the answer had begun: a connection that is lost then is a broken stream.
   */
  failed(engine: Engine, fault: EngineFault, hadBegun: boolean): void {
    const known = CLASSES[fault.outcome];
    if (known === undefined || fault.isBlameless) return;
    if (known === 'overload') this.#cool(engine, fault.retryAfterS);
    if (fault.outcome === 'engineAuth') {
      this.#logger?.error('an engine does not accept the engine key', {
        iid: engine.iid,
        status: fault.status,
        hint: this.#keyHint,
      });
    }
    const failure = hadBegun && known !== 'overload' ? 'stream' : known;
    engine.failures[fault.outcome === 'engineAuth' ? 'auth' : failure]++;
    this.#take(engine, { kind: 'failure', failure, refused: fault.outcome === 'engineUnreachable' });
  }

  /** A health probe was answered with 200, or was not. */
  probed(engine: Engine, result: { readonly ok: boolean; readonly refused: boolean }): void {
    if (!result.ok) engine.failures.liveness++;
    this.#take(engine, result.ok ? { kind: 'alive' } : { kind: 'miss', refused: result.refused });
  }

  /** Whether an ejected engine may be probed for its return. */
  mayReturn(engine: Engine): boolean {
    return !engine.isDrained && mayReturn(engine.breaker, this.rules, this.#now());
  }

  /** The probe of an ejected engine was good. */
  readmit(engine: Engine): void {
    if (engine.breaker.kind !== 'ejected') return;
    engine.breaker = readmit(engine.breaker);
    // As loud as its going: an operator waits for it.
    this.#logger?.warn('an engine is back in placement', { iid: engine.iid });
  }

  #take(engine: Engine, evidence: Evidence): void {
    const next = afterEvidence(engine.breaker, evidence, this.rules, this.#now());
    if (next.kind !== 'ejected' || engine.breaker.kind === 'ejected') {
      engine.breaker = next;
      return;
    }
    // Without it nothing would be served at all: a suspicion is not worth that, a closed port is.
    if (!next.refused && this.#isLast(engine)) return;
    engine.breaker = next;
    engine.ejections++;
    this.#logger?.warn('an engine is out of placement', { iid: engine.iid, suspicion: next.suspicion });
  }

  #isLast(engine: Engine): boolean {
    const { role } = engine.config;
    return !this.#engines.some((other) => other !== engine && other.config.role === role && other.isLive);
  }

  #cool(engine: Engine, retryAfterS: number | null): void {
    const seconds = Math.min(retryAfterS ?? DEFAULT_COOL_S, MAX_COOL_S);
    engine.coolUntil = Math.max(engine.coolUntil, this.#now() + seconds * 1000);
  }
}
