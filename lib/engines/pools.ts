/**
 * The connections of a fleet: one pool for each engine.
 *
 * No limits of their own but that of connecting: the only deadlines are the legs'. Connections are given up
 * before the engine's server closes them (uvicorn: 5 s), and a reused one that turns out to be dead before any
 * byte of the answer is replaced once, unseen.
 *
 * Why not a client of somebody else's: carrying the two legs is what this package is for, and it is the most of
 * what a small request costs. undici takes 60 us more of 230 (docs/performance.md, `npm run bench -- json`).
 */
import type { LookupFunction } from 'node:net';
import type { EngineConfig } from '../config/fleet-config';
import type { Place } from '../roster';
import { describe, isSocketLoss, PoolsClosedError } from './socket-errors';
import { type CallControl, type CallSink, type EngineCall, TransportError } from './transport';
import type { Address, WireRequest } from './wire/connection';
import type { RawHeaders } from './wire/raw-headers';
import { type Carrier, type PooledPassenger, SocketPool } from './wire/socket-pool';
import { wireRequest } from './wire/wire-request';

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

/** How often connections that were free for too long are looked for. */
const SWEEP_MS = 1000;

/** The pools of a fleet, opened on first use. */
export class EnginePools {
  readonly #pools = new Map<string, SocketPool>();
  readonly #limits: PoolLimits;
  #sweeper: NodeJS.Timeout | null = null;
  #closed = false;

  constructor(limits: PoolLimits) {
    this.#limits = limits;
  }

  /** Sends a call; every failure reaches the sink, none is thrown. */
  send(call: EngineCall, sink: CallSink): CallControl {
    const pooled = new PooledCall(call, sink, this.#closed ? null : this.#pool(call.engine));
    pooled.start();
    return pooled;
  }

  /** Closes every connection; running calls fail. */
  close(): Promise<void> {
    this.#closed = true;
    if (this.#sweeper !== null) clearInterval(this.#sweeper);
    this.#sweeper = null;
    const ended = [...this.#pools.values()].map((pool) => pool.destroy(new PoolsClosedError()));
    this.#pools.clear();
    return Promise.all(ended).then(() => undefined);
  }

  #pool({ origin }: EngineConfig): SocketPool {
    let pool = this.#pools.get(origin);
    if (pool === undefined) {
      const { connectTimeoutS, keepaliveS, maxSocketAgeS, sockets, lookup } = this.#limits;
      pool = new SocketPool(addressOf(origin), {
        connectTimeoutMs: connectTimeoutS * 1000,
        idleMs: keepaliveS * 1000,
        maxAgeMs: maxSocketAgeS * 1000,
        connections: sockets,
        lookup,
      });
      this.#pools.set(origin, pool);
      this.#sweeper ??= setInterval(() => this.#sweep(), SWEEP_MS).unref();
    }
    return pool;
  }

  #sweep(): void {
    const now = performance.now();
    for (const pool of this.#pools.values()) pool.sweep(now);
  }
}

function addressOf(origin: string): Address {
  const { protocol, hostname, port, host } = new URL(origin);
  const isSecure = protocol === 'https:';
  return {
    isSecure,
    // A literal of IP version 6 stands in brackets in a URL, and without them everywhere else.
    hostname: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: port === '' ? (isSecure ? 443 : 80) : Number(port),
    authority: host,
  };
}

/** One call on its way; at most one replay. */
class PooledCall implements CallControl, PooledPassenger {
  connection: Carrier | null = null;
  place: Place<PooledPassenger> | null = null;
  request!: WireRequest;
  readonly #call: EngineCall;
  readonly #pool: SocketPool | null;
  readonly #sink: CallSink;
  #headSeen = false;
  #replayed = false;
  #over = false;
  /** Whether the connection had carried an answer before. */
  #reused = false;
  /** Monotonic ms. */
  #sentAt = 0;

  constructor(call: EngineCall, sink: CallSink, pool: SocketPool | null) {
    this.#call = call;
    this.#sink = sink;
    this.#pool = pool;
  }

  start(): void {
    try {
      this.request = wireRequest(this.#call);
      if (this.#pool === null) throw new PoolsClosedError();
      this.#pool.send(this);
    } catch (error) {
      // Not at once: the caller has no hold of the call yet.
      queueMicrotask(() => this.broken(error as Error));
    }
  }

  pause(): void {
    this.connection?.pause();
  }

  resume(): void {
    this.connection?.resume();
  }

  cut(): void {
    if (this.#over) return;
    this.#over = true;
    this.#pool?.forget(this);
  }

  boarded(answered: number): void {
    this.#reused = answered > 0;
    this.#sentAt = performance.now();
    if (!this.#replayed) this.#sink.sent();
  }

  head(status: number, headers: RawHeaders): void {
    this.#headSeen = true;
    if (!this.#over) this.#sink.head(status, headers);
  }

  body(bytes: Buffer): void {
    if (!this.#over) this.#sink.data(bytes);
  }

  ended(): void {
    // It may carry another call by now, which is not to be held up for this one.
    this.connection = null;
    if (this.#over) return;
    this.#over = true;
    this.#sink.end();
  }

  broken(error: Error): void {
    this.connection = null;
    if (this.#over) return;
    if (this.#pool !== null && this.#isStale(error)) {
      this.#replayed = true;
      this.#pool.sendOnNew(this);
      return;
    }
    this.#over = true;
    const [failure, text] = describe(error);
    this.#sink.fail(new TransportError(failure, text));
  }

  /** A reused socket that the engine had closed before the request came. */
  #isStale(error: Error): boolean {
    if (!this.#reused || this.#headSeen || this.#replayed || !isSocketLoss(error)) return false;
    return performance.now() - this.#sentAt < STALE_MS;
  }
}
