/** The engines with their placement and connection pools: what serving asks. */
import type { AxiosInstance } from 'axios';
import type { EngineRole, FleetConfig } from '../config/fleet-config';
import { loadFleetFile, parseFleet } from '../config/fleet-file';
import { ConfigError } from '../errors';
import type { Logger } from '../logger';
import { checkOptions } from '../options';
import type { Connector } from './connectors/connector';
import { nixl } from './connectors/nixl';
import type { Dialect } from './dialects/dialect';
import { vllm } from './dialects/vllm';
import { Engine } from './engine';
import { AxiosTransport, createEngineClient } from './engine-client';
import { Health } from './health';
import { HandoffLedger } from './ledger';
import { Monitor } from './monitor';
import { type LegKind, leastLoaded } from './placement';
import { EnginePools } from './pools';
import { Tokenizer } from './tokenize';
import type { Transport } from './transport';

/** Options of `createFleet` and `loadFleet`. */
export interface FleetOptions {
  /**
   * The axios instance for engine calls, with whatever interceptors the host wants. Its transport stays
   * the library's own. Default: a new instance, reachable as `fleet.client`.
   */
  readonly client?: AxiosInstance | undefined;
  /** Variables for `${NAME}` and `engine_api_key_env`. Default: `process.env`. */
  readonly env?: NodeJS.ProcessEnv | undefined;
  /** Told of ejections, returns and refused keys. Default: nobody. */
  readonly logger?: Logger | undefined;
}

/** A place taken in an engine; `release` counts once. */
export interface Seat {
  readonly engine: Engine;
  release(): void;
}

/** A pooled socket older than this takes no new call, so that a changed DNS answer is followed. */
const MAX_SOCKET_AGE_S = 60;

/** Probes have sockets of their own, so that a busy pool does not make an engine look dead. */
const PROBE_SOCKETS = 2;

/** How a request may be served right now. */
export type FleetShape = 'split' | 'single' | 'none';

/** A fleet of engines. Made by `createFleet` or `loadFleet`. */
export class Fleet {
  /** @internal */
  readonly config: FleetConfig;
  /** @internal */
  readonly engines: readonly Engine[];
  /** The axios instance of its engine calls: for interceptors of the host. */
  readonly client: AxiosInstance;
  /** @internal */
  readonly transport: Transport;
  /** @internal */
  readonly dialect: Dialect = vllm;
  /** @internal */
  readonly connector: Connector = nixl;
  /** @internal */
  readonly health: Health;
  /** @internal */
  readonly ledger: HandoffLedger;
  /** @internal */
  readonly tokenizer: Tokenizer;
  readonly #monitor: Monitor;
  readonly #probes: Transport;
  readonly #byRole: Readonly<Record<EngineRole, readonly Engine[]>>;
  /** Where the next tie falls, for each kind of leg: one counter for all would pair engines for ever. */
  readonly #turns: Record<LegKind, number> = { prefill: 0, decode: 0, single: 0 };
  #closing: Promise<void> | null = null;

  /** @internal use `createFleet` */
  constructor(config: FleetConfig, client: AxiosInstance, logger: Logger | null) {
    this.config = config;
    this.client = client;
    this.engines = config.engines.map((engine) => new Engine(engine));
    this.ledger = new HandoffLedger(this.engines);
    this.#byRole = {
      prefill: this.engines.filter(({ config: { role } }) => role === 'prefill'),
      decode: this.engines.filter(({ config: { role } }) => role === 'decode'),
      both: this.engines.filter(({ config: { role } }) => role === 'both'),
    };
    const { connectTimeoutS, keepaliveS } = config.engine;
    const limits = { connectTimeoutS, keepaliveS, maxSocketAgeS: MAX_SOCKET_AGE_S };
    this.transport = new AxiosTransport(client, new EnginePools({ ...limits, sockets: null }));
    this.#probes = new AxiosTransport(client, new EnginePools({ ...limits, sockets: PROBE_SOCKETS }));
    this.tokenizer = new Tokenizer({
      transport: this.transport,
      timeoutS: config.engine.tokenizeTimeoutS,
      candidates: () => this.liveOf(this.has('prefill') ? 'prefill' : 'both'),
    });
    this.health = new Health(this.engines, config, logger, () => performance.now());
    this.#monitor = new Monitor(this.engines, this.health, {
      config,
      transport: this.#probes,
      connector: this.connector,
      ledger: this.ledger,
      partner: (role) => leastLoaded(this.liveOf(role), role, 0, performance.now()),
    });
    this.#monitor.start();
  }

  /** @internal The engine of this name, if the fleet has it. */
  engine(iid: string): Engine | undefined {
    return this.engines.find((engine) => engine.iid === iid);
  }

  /** Takes an engine out of placement; what runs on it goes on. @returns false for an unknown name. */
  drain(iid: string): boolean {
    const engine = this.engine(iid);
    if (engine === undefined) return false;
    engine.isDrained = true;
    return true;
  }

  /** Brings an engine back, after a good health and one-token probe. @returns whether it is back. */
  async readmit(iid: string): Promise<boolean> {
    const engine = this.engine(iid);
    return engine !== undefined && (await this.#monitor.readmit(engine));
  }

  /** @internal Whether a request is served in two legs, in one, or not at all, by the engines that are live. */
  shape(): FleetShape {
    if (this.liveOf('prefill').length > 0 && this.liveOf('decode').length > 0) return 'split';
    return this.liveOf('both').length > 0 ? 'single' : 'none';
  }

  /** @internal Whether the fleet file names an engine of this role, live or not. */
  has(role: EngineRole): boolean {
    return this.#byRole[role].length > 0;
  }

  /** @internal */
  liveOf(role: EngineRole): readonly Engine[] {
    const engines = this.#byRole[role];
    return engines.every((engine) => engine.isLive) ? engines : engines.filter((engine) => engine.isLive);
  }

  /**
   * Takes a place for a leg in the least loaded live engine. Counted from now on, not from the answer.
   *
   * @param tokens length of the prompt, for prefill.
   * @param excluded engines that failed this request.
   * @param avoid the handoff's producer: decode goes elsewhere if it can.
   * @internal
   * @returns null when no live engine is left.
   */
  place(
    kind: LegKind,
    tokens: number,
    excluded: ReadonlySet<Engine>,
    avoid: Engine | null = null,
  ): Seat | null {
    const role: EngineRole = kind === 'single' ? 'both' : kind;
    const all = this.liveOf(role);
    const live = excluded.size === 0 ? all : all.filter((engine) => !excluded.has(engine));
    const engine = leastLoaded(live, kind, this.#turns[kind]++, performance.now(), avoid);
    return engine === null ? null : takeSeat(engine, kind, tokens);
  }

  /** Closes every engine connection; a second call returns the same promise. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#monitor.stop();
    await Promise.all([this.transport.close(), this.#probes.close()]);
  }
}

function takeSeat(engine: Engine, kind: LegKind, tokens: number): Seat {
  let held = true;
  if (kind === 'prefill') {
    engine.prefills++;
    engine.prefillTokens += tokens;
  } else {
    engine.decodes++;
  }
  return {
    engine,
    release(): void {
      if (!held) return;
      held = false;
      if (kind === 'prefill') {
        engine.prefills--;
        engine.prefillTokens -= tokens;
      } else {
        engine.decodes--;
      }
    },
  };
}

const OPTION_NAMES = ['client', 'env', 'logger'] as const;

/**
 * Builds a fleet from the content of a fleet file. Its engines are watched from now on: close it in the end.
 *
 * @example
 * ```ts
 * import express from 'express';
 * import { createFleet, dispatchEngine } from 'express-narwhal';
 *
 * const fleet = createFleet({
 *   model: 'example/model',
 *   engines: [
 *     { iid: 'p0', url: 'http://10.0.0.1:8000', role: 'prefill' },
 *     { iid: 'd0', url: 'http://10.0.0.2:8000', role: 'decode' },
 *   ],
 * });
 * express().post('/v1/chat/completions', dispatchEngine({ fleet }));
 * process.once('SIGTERM', () => fleet.close());
 * ```
 *
 * @param config an object of schema `narwhal.fleet` version 1.
 * @throws {ConfigError} naming every problem of the file.
 */
export function createFleet(config: object, options?: FleetOptions): Fleet {
  const { client, env, logger } = checkOptions('createFleet', options, OPTION_NAMES);
  if (client !== undefined) checkClient(client);
  const parsed = parseFleet(config, env === undefined ? {} : { env });
  return new Fleet(parsed, client ?? createEngineClient(), logger ?? null);
}

/**
 * Builds a fleet from a fleet file. Its engines are watched from now on: close it in the end.
 *
 * @example
 * ```ts
 * import { loadFleet, narwhalRouter } from 'express-narwhal';
 *
 * const fleet = loadFleet('./fleet.json', { logger: console });
 * const narwhal = narwhalRouter({ fleet });
 * process.once('SIGTERM', async () => {
 *   await narwhal.close();
 *   await fleet.close();
 * });
 * ```
 *
 * @param path path of the JSON file.
 * @throws {ConfigError} when the file cannot be read or has problems; all are named.
 */
export function loadFleet(path: string, options?: FleetOptions): Fleet {
  const { client, env, logger } = checkOptions('loadFleet', options, OPTION_NAMES);
  if (client !== undefined) checkClient(client);
  if (typeof path !== 'string')
    throw new ConfigError('fleet must be a path, the content of a fleet file, or a fleet');
  const parsed = loadFleetFile(path, env === undefined ? {} : { env });
  return new Fleet(parsed, client ?? createEngineClient(), logger ?? null);
}

/** @throws {ConfigError} for anything that is no axios instance: the first request would be too late. */
function checkClient(client: unknown): void {
  const { request, interceptors, defaults } = (client ?? {}) as Partial<AxiosInstance>;
  if (typeof request === 'function' && interceptors !== undefined && defaults !== undefined) return;
  throw new ConfigError('client must be an axios instance, e.g. axios.create()');
}
