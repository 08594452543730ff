/**
 * One undici pool per engine.
 *
 * undici's own header and body limits are off: the only deadlines are ours. Sockets expire before the
 * engine's server closes them (uvicorn: 5 s), and a reused socket that turns out to be dead before any
 * byte of the answer is replaced once, unseen.
 */
import type { LookupFunction } from 'node:net';
import { Client, type Dispatcher, Pool } from 'undici';
import type { EngineConfig } from '../config/fleet-config';
import { RawHeaders } from './answer-headers';
import { describe, isSocketLoss } from './socket-errors';
import {
  type CallControl,
  type CallSink,
  type EngineCall,
  TransportError,
  type TransportFailure,
} from './transport';

/** Limits of the pools; times in seconds. */
export interface PoolLimits {
  readonly connectTimeoutS: number;
  readonly keepaliveS: number;
  /** A socket older than this takes no new call, so that a changed DNS answer is followed. */
  readonly maxSocketAgeS: number;
  /** Sockets per engine at most; null for no limit. */
  readonly sockets: number | null;
  /** Resolves names. Default: the system's resolver. */
  readonly lookup?: LookupFunction;
}

/**
 * How soon after the request a reused socket breaks that was dead before it: a round trip, and what a busy
 * event loop adds. A break after that is an engine that died at work, and may have taken a handoff.
 */
const STALE_MS = 500;

/** A socket's client that counts the answers its present socket has carried. */
class CountingClient extends Client {
  answered = 0;

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    (options as PoolOptions).run.client = this;
    return super.dispatch(options, handler);
  }
}

interface PoolOptions extends Dispatcher.DispatchOptions {
  readonly run: PooledCall;
}

/** A pool, and the monotonic ms until which it takes new calls. */
interface AgedPool {
  readonly pool: Pool;
  readonly until: number;
}

/** The pools of a fleet, opened on first use. */
export class EnginePools {
  readonly #pools = new Map<string, AgedPool>();
  /** Pools that take no new call; each is forgotten once its last call is over. */
  readonly #retired = new Set<Pool>();
  readonly #limits: PoolLimits;
  #closed = false;

  constructor(limits: PoolLimits) {
    this.#limits = limits;
  }

  /** Sends a call; every failure reaches the sink, none is thrown. */
  send(call: EngineCall, sink: CallSink): CallControl {
    const pooled = new PooledCall(this, call, sink);
    if (this.#closed) {
      queueMicrotask(() => pooled.fail('closed', 'the connection pools are closed'));
    } else {
      pooled.dispatch(this.#pool(call.engine));
    }
    return pooled;
  }

  async close(): Promise<void> {
    this.#closed = true;
    const pools = [...this.#retired, ...[...this.#pools.values()].map(({ pool }) => pool)];
    this.#pools.clear();
    this.#retired.clear();
    await Promise.all(pools.map((pool) => pool.destroy()));
  }

  /**
   * The pool of an engine. One that has reached its age gives way to a new one and ends with its last call;
   * undici's own limit (`clientTtl`) asks for the time once for each busy socket at each call.
   */
  #pool(engine: EngineConfig): Pool {
    const { origin } = engine;
    const now = performance.now();
    const known = this.#pools.get(origin);
    if (known !== undefined && now < known.until) return known.pool;
    if (known !== undefined) this.#retire(known.pool);
    const pool = this.#open(origin);
    this.#pools.set(origin, { pool, until: now + this.#limits.maxSocketAgeS * 1000 });
    return pool;
  }

  #retire(pool: Pool): void {
    this.#retired.add(pool);
    const forget = (): boolean => this.#retired.delete(pool);
    pool.close().then(forget, forget);
  }

  /** A client of its own for one call: it opens a new socket and closes it after the answer. */
  fresh(engine: EngineConfig): Client {
    return new Client(engine.origin, { ...this.#clientOptions(), pipelining: 0 });
  }

  #clientOptions(): Client.Options {
    const { connectTimeoutS, keepaliveS, lookup } = this.#limits;
    return {
      pipelining: 1,
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: keepaliveS * 1000,
      keepAliveMaxTimeout: keepaliveS * 1000,
      connect: { timeout: connectTimeoutS * 1000, ...(lookup && { lookup }) },
    };
  }

  #open(origin: string): Pool {
    return new Pool(origin, {
      ...this.#clientOptions(),
      connections: this.#limits.sockets,
      factory: (target: URL, options: object) => {
        const client = new CountingClient(target, options);
        client.on('connect', () => {
          client.answered = 0;
        });
        return client;
      },
    });
  }
}

/**
 * One call on its way; at most one replay.
 *
 * It is a handler of undici's older form: the newer one is wrapped into it, which decodes every header field of
 * every answer and costs a small request 6 us (`npm run bench -- json`).
 */
class PooledCall implements CallControl, Dispatcher.DispatchHandler {
  client: CountingClient | null = null;
  readonly #pools: EnginePools;
  readonly #call: EngineCall;
  readonly #sink: CallSink;
  #abort: ((error: Error) => void) | null = null;
  #resume: (() => void) | null = null;
  #paused = false;
  #headSeen = false;
  #replayed = false;
  #over = false;
  /** Monotonic ms. */
  #sentAt = 0;

  constructor(pools: EnginePools, call: EngineCall, sink: CallSink) {
    this.#pools = pools;
    this.#call = call;
    this.#sink = sink;
  }

  dispatch(carrier: Dispatcher): void {
    const { engine, method, path, headers, body } = this.#call;
    const options: PoolOptions = {
      path: engine.prefix + path,
      method,
      headers: headers as Record<string, string>,
      body,
      run: this,
    };
    carrier.dispatch(options, this);
  }

  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#resume?.();
  }

  cut(): void {
    if (this.#over) return;
    this.#over = true;
    this.#abort?.(new Error('cut by the router'));
  }

  fail(failure: TransportFailure, message: string): void {
    if (this.#over) return;
    this.#over = true;
    this.#sink.fail(new TransportError(failure, message));
  }

  onConnect(abort: (error?: Error) => void): void {
    this.#abort = abort;
    this.#sentAt = performance.now();
    if (this.#over) abort(new Error('cut by the router'));
    else if (!this.#replayed) this.#sink.sent();
  }

  /** @returns false to be called no more until `resume`. */
  onHeaders(status: number, raw: Buffer[], resume: () => void): boolean {
    this.#resume = resume;
    if (status < 200 || this.#over) return true;
    this.#headSeen = true;
    this.#sink.head(status, new RawHeaders(raw));
    return !this.#paused;
  }

  /** @returns as `onHeaders`. */
  onData(chunk: Buffer): boolean {
    if (!this.#over) this.#sink.data(chunk);
    return !this.#paused;
  }

  onComplete(): void {
    if (this.client !== null) this.client.answered++;
    if (this.#over) return;
    this.#over = true;
    this.#sink.end();
  }

  onError(error: Error): void {
    if (this.#over) return;
    if (this.#isStale(error)) {
      this.#replayed = true;
      this.client = null;
      const fresh = this.#pools.fresh(this.#call.engine);
      this.dispatch(fresh);
      // Waits for the call, then closes the socket; a failure is the call's own to report.
      void fresh.close();
      return;
    }
    const [failure, text] = describe(error);
    this.fail(failure, text);
  }

  /** A reused socket that the engine had closed before the request came. */
  #isStale(error: Error): boolean {
    const reused = (this.client?.answered ?? 0) > 0;
    if (!reused || this.#headSeen || this.#replayed || !isSocketLoss(error)) return false;
    return performance.now() - this.#sentAt < STALE_MS;
  }
}
