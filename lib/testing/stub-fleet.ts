import { BreachLog, type BreachName } from './breach-log';
import { checkCount, checkKeys } from './check-options';
import { fleetFile } from './fleet-file';
import type { Generation } from './generation';
import { HandoffLedger, type StubLedger } from './handoff-ledger';
import type { JsonObject } from './raw-json';
import type { StubCall, StubRole } from './stub-call';
import { EngineServer, type StubEngine } from './stub-engine';
import { type StubScripting, scriptReader } from './stub-script';
import type { FleetState } from './turn';

/** Options of {@link startStubFleet}. */
export interface StubFleetOptions {
  /** How many prefill engines (`p0`, `p1`, ...). @default 1 */
  readonly prefill?: number | undefined;
  /** How many decode engines (`d0`, ...). @default 1 */
  readonly decode?: number | undefined;
  /** How many engines that work alone (`b0`, ...). @default 0 */
  readonly both?: number | undefined;
  /** The model they serve. @default 'example/model' */
  readonly model?: string | undefined;
  /** With a key, every path under `/v1` asks for exactly this bearer key. @default none */
  readonly apiKey?: string | undefined;
  /** How long an unclaimed handoff is kept, seconds. @default 30 */
  readonly leaseS?: number | undefined;
  /** What every engine does instead of answering well; an engine's own `script` is asked first. @default nothing */
  readonly script?: StubScripting;
  /** What is generated, one generation for each choice. @default words made from the prompt */
  readonly generate?: ((call: StubCall) => Generation | readonly Generation[]) | undefined;
  /** The loopback address on which they listen. @default '127.0.0.1' */
  readonly host?: '127.0.0.1' | '::1' | undefined;
  /** Path in front of every endpoint, such as `/engines/a`. @default '' */
  readonly prefix?: string | undefined;
  /** Idle life of a connection, ms. @default 5000, as uvicorn */
  readonly keepAliveTimeoutMs?: number | undefined;
  /** Wait before each frame of a stream, ms. @default 0 */
  readonly tokenDelayMs?: number | undefined;
  /** Wait before a prefill answer, ms. @default 0 */
  readonly prefillDelayMs?: number | undefined;
  /** Longest prompt plus answer, tokens. @default 1048576 */
  readonly maxModelLen?: number | undefined;
  /**
   * What a decode leg gets whose handoff went down with its engine: a KV load failure, or an answer that was
   * computed again. @default 'fail', as vLLM's `kv_load_failure_policy`
   */
  readonly deadProducer?: 'fail' | 'recompute' | undefined;
  /** Checks that are switched off. @default none */
  readonly lenient?: readonly BreachName[] | undefined;
}

/** A running fleet of stub engines. */
export interface StubFleet {
  /** The model that its engines serve. */
  readonly model: string;
  /** Its engines: prefill, then decode, then those that work alone. */
  readonly engines: readonly StubEngine[];
  /** All calls in the order in which their bodies were complete. */
  readonly calls: readonly StubCall[];
  /** What became of the handoffs. */
  readonly ledger: StubLedger;
  /** What the caller did wrong, with engine and request id. */
  readonly breaches: readonly string[];
  /** What every engine does instead of answering well, from now on; an engine's own is asked first. */
  script: StubScripting;
  /** The engine of this name. @throws RangeError when there is no such engine */
  engine(iid: string): StubEngine;
  /** A fleet object for `narwhalRouter({ fleet })`; `overrides` are merged over it. */
  fleetFile(overrides?: object): JsonObject;
  /** Asserts that the wire was spoken well. @throws Error that lists the breaches, if there are any */
  assertNoBreaches(): void;
  /** Forgets calls, breaches, handoffs and request ids. */
  reset(): void;
  /** Stops every engine. May be called again. */
  close(): Promise<void>;
}

const OPTION_KEYS = [
  'prefill',
  'decode',
  'both',
  'model',
  'apiKey',
  'leaseS',
  'script',
  'generate',
  'host',
  'prefix',
  'keepAliveTimeoutMs',
  'tokenDelayMs',
  'prefillDelayMs',
  'maxModelLen',
  'deadProducer',
  'lenient',
] as const satisfies readonly (keyof StubFleetOptions)[];

const LETTERS: readonly (readonly [StubRole, string])[] = [
  ['prefill', 'p'],
  ['decode', 'd'],
  ['both', 'b'],
];

function stateOf(options: StubFleetOptions, engines: readonly EngineServer[]): FleetState {
  return {
    facts: {
      model: options.model ?? 'example/model',
      apiKey: options.apiKey,
      maxModelLen: options.maxModelLen ?? 1_048_576,
    },
    ledger: new HandoffLedger(),
    log: new BreachLog(options.lenient ?? []),
    seenIds: new Set(),
    leaseMs: (options.leaseS ?? 30) * 1000,
    prefillDelayMs: options.prefillDelayMs ?? 0,
    tokenDelayMs: options.tokenDelayMs ?? 0,
    deadProducer: options.deadProducer ?? 'fail',
    generate: options.generate,
    engineId: (iid) => engines.find((engine) => engine.iid === iid && engine.running)?.engineId ?? null,
  };
}

class RunningFleet implements StubFleet {
  readonly model: string;
  readonly engines: EngineServer[] = [];
  calls: StubCall[] = [];
  readonly #state: FleetState;
  #script: StubScripting;
  #read = scriptReader(undefined);

  constructor(options: StubFleetOptions) {
    this.#state = stateOf(options, this.engines);
    this.model = this.#state.facts.model;
    this.script = options.script;
    const counts = { prefill: options.prefill ?? 1, decode: options.decode ?? 1, both: options.both ?? 0 };
    for (const [role, letter] of LETTERS) {
      for (let at = 0; at < counts[role]; at += 1)
        this.engines.push(this.#engine(role, letter + at, options));
    }
  }

  #engine(role: StubRole, iid: string, options: StubFleetOptions): EngineServer {
    return new EngineServer({
      iid,
      role,
      host: options.host ?? '127.0.0.1',
      prefix: options.prefix ?? '',
      keepAliveTimeoutMs: options.keepAliveTimeoutMs ?? 5000,
      fleet: this.#state,
      fleetScript: (call) => this.#read(call),
      onCall: (call) => this.calls.push(call),
    });
  }

  get script(): StubScripting {
    return this.#script;
  }

  set script(scripting: StubScripting) {
    this.#script = scripting;
    this.#read = scriptReader(scripting);
  }

  get ledger(): StubLedger {
    return this.#state.ledger;
  }

  get breaches(): readonly string[] {
    return this.#state.log.texts;
  }

  engine(iid: string): StubEngine {
    const found = this.engines.find((engine) => engine.iid === iid);
    if (found === undefined) throw new RangeError(`no engine ${iid} in this fleet`);
    return found;
  }

  fleetFile(overrides: object = {}): JsonObject {
    return fleetFile(this.model, this.engines, overrides);
  }

  assertNoBreaches(): void {
    if (this.breaches.length > 0) throw new Error(`the wire was breached:\n${this.breaches.join('\n')}`);
  }

  reset(): void {
    this.calls = [];
    for (const engine of this.engines) engine.calls = [];
    this.#state.log.clear();
    this.#state.ledger.clear();
    this.#state.seenIds.clear();
  }

  async close(): Promise<void> {
    await Promise.all(this.engines.map((engine) => engine.stop()));
  }
}

/**
 * Starts engines that speak vLLM's HTTP wire strictly, on loopback ports of their own. They keep a ledger of
 * every handoff, note each breach of the wire, and can be told to fail.
 *
 * @example
 * ```ts
 * import express from 'express';
 * import { narwhalRouter } from 'express-narwhal';
 * import { startStubFleet } from 'express-narwhal/testing';
 *
 * const fleet = await startStubFleet({ decode: 2 });
 * const narwhal = narwhalRouter({ fleet: fleet.fleetFile(), journal: false });
 * const app = express().use(narwhal);
 * // ... requests ...
 * await narwhal.close();
 * await fleet.close();
 * fleet.assertNoBreaches();
 * ```
 *
 * @throws {TypeError} for an unknown option, a count that is none, a name in `lenient` that is no check
 */
export async function startStubFleet(options: StubFleetOptions = {}): Promise<StubFleet> {
  checkKeys('startStubFleet', options, OPTION_KEYS);
  for (const role of ['prefill', 'decode', 'both'] as const)
    checkCount(`startStubFleet: ${role}`, options[role]);
  const fleet = new RunningFleet(options);
  try {
    await Promise.all(fleet.engines.map((engine) => engine.start()));
  } catch (error) {
    await fleet.close();
    throw error;
  }
  return fleet;
}
