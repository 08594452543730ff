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
import {
  type AnswerHeaders,
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

/** The pools of a fleet, opened on first use. */
export class EnginePools {
  readonly #pools = new Map<string, Pool>();
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
    const pools = [...this.#pools.values()];
    this.#pools.clear();
    await Promise.all(pools.map((pool) => pool.destroy()));
  }

  #pool(engine: EngineConfig): Pool {
    let pool = this.#pools.get(engine.origin);
    if (pool === undefined) {
      pool = this.#open(engine.origin);
      this.#pools.set(engine.origin, pool);
    }
    return pool;
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
      clientTtl: this.#limits.maxSocketAgeS * 1000,
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

/** One call on its way; at most one replay. */
class PooledCall implements CallControl, Dispatcher.DispatchHandler {
  client: CountingClient | null = null;
  readonly #pools: EnginePools;
  readonly #call: EngineCall;
  readonly #sink: CallSink;
  #controller: Dispatcher.DispatchController | null = null;
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
    this.#controller?.pause();
  }

  resume(): void {
    this.#controller?.resume();
  }

  cut(): void {
    if (this.#over) return;
    this.#over = true;
    this.#controller?.abort(new Error('cut by the router'));
  }

  fail(failure: TransportFailure, message: string): void {
    if (this.#over) return;
    this.#over = true;
    this.#sink.fail(new TransportError(failure, message));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    this.#sentAt = performance.now();
    if (this.#over) controller.abort(new Error('cut by the router'));
    else if (!this.#replayed) this.#sink.sent();
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: AnswerHeaders): void {
    if (status < 200 || this.#over) return;
    this.#headSeen = true;
    this.#sink.head(status, headers);
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.#over) this.#sink.data(chunk);
  }

  onResponseEnd(): void {
    if (this.client !== null) this.client.answered++;
    if (this.#over) return;
    this.#over = true;
    this.#sink.end();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
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

function codeOf(error: Error): string {
  const { code } = error as NodeJS.ErrnoException;
  return typeof code === 'string' ? code : '';
}

function isSocketLoss(error: Error): boolean {
  return ['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'].includes(codeOf(error));
}

const NEVER_CONNECTED = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
  'EHOSTDOWN',
  'ERR_SSL_WRONG_VERSION_NUMBER',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'CERT_HAS_EXPIRED',
  'ERR_TLS_CERT_ALTNAME_INVALID',
]);

/** Sorts an undici or socket error; only its code and message are taken, never its config. */
function describe(error: Error): [TransportFailure, string] {
  const code = codeOf(error) || codeOf((error as { errors?: Error[] }).errors?.[0] ?? error);
  const text = code === '' ? error.message : `${code}: ${error.message || 'connect failed'}`;
  if (code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ETIMEDOUT') return ['connect_timeout', text];
  if (NEVER_CONNECTED.has(code)) return ['unreachable', text];
  if (code === 'UND_ERR_DESTROYED' || code === 'UND_ERR_CLOSED') return ['closed', text];
  if (code.startsWith('HPE_')) return ['answer', text];
  return ['connection', text];
}
