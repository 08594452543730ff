/**
 * axios in front of the pools: the client that a host may inject and put interceptors on.
 *
 * axios's front costs about 64 us a call. While nobody has added an interceptor or a transform, it
 * would change nothing, so the pools are called straight. `bench/` shows the difference.
 */
import axios, { type AxiosInstance, type AxiosResponse, type InternalAxiosRequestConfig } from 'axios';
import { ObjectHeaders } from './answer-headers';
import type { EnginePools } from './pools';
import {
  type AnswerHeaders,
  type CallBody,
  type CallControl,
  type CallSink,
  type EngineCall,
  type Transport,
  TransportError,
} from './transport';

/** The request config that carries a call through axios. */
interface CallConfig extends InternalAxiosRequestConfig {
  readonly ticket: Ticket;
}

/**
 * A new axios instance for engine calls: no default headers, no proxies from the environment, no
 * redirects, every status accepted, bodies untouched.
 */
export function createEngineClient(): AxiosInstance {
  const client = axios.create({ proxy: false, maxRedirects: 0, validateStatus: null });
  for (const headers of Object.values(client.defaults.headers)) {
    if (typeof headers === 'object' && headers !== null) {
      for (const name of Object.keys(headers)) delete (headers as Record<string, unknown>)[name];
    }
  }
  return client;
}

/** Sends calls through an axios instance whose transport is the pools. */
export class AxiosTransport implements Transport {
  readonly #client: AxiosInstance;
  readonly #pools: EnginePools;

  constructor(client: AxiosInstance, pools: EnginePools) {
    this.#client = client;
    this.#pools = pools;
  }

  send(call: EngineCall, sink: CallSink): CallControl {
    if (isPlain(this.#client)) return this.#pools.send(call, sink);
    const ticket = new Ticket(this.#pools, call, sink);
    ticket.travel(this.#client);
    return ticket;
  }

  close(): Promise<void> {
    return this.#pools.close();
  }
}

interface InterceptorStack {
  readonly handlers?: readonly unknown[];
}

function isPlain(client: AxiosInstance): boolean {
  return (
    isEmpty(client.interceptors.request) &&
    isEmpty(client.interceptors.response) &&
    hasNoOwnHeaders(client.defaults.headers) &&
    sameTransforms(client.defaults.transformRequest, axios.defaults.transformRequest) &&
    sameTransforms(client.defaults.transformResponse, axios.defaults.transformResponse)
  );
}

function isEmpty(stack: unknown): boolean {
  const { handlers } = stack as InterceptorStack;
  return handlers === undefined || handlers.every((handler) => handler === null);
}

/** Headers that a host gave its client go with every call, on whichever way. */
function hasNoOwnHeaders(headers: object): boolean {
  const usual = axios.defaults.headers as unknown as Record<string, Record<string, unknown> | undefined>;
  for (const method in headers) {
    const group: unknown = (headers as Record<string, unknown>)[method];
    if (typeof group !== 'object' || group === null) return false;
    for (const name in group)
      if (usual[method]?.[name] !== (group as Record<string, unknown>)[name]) return false;
  }
  return true;
}

function sameTransforms(a: unknown, b: unknown): boolean {
  if (a === b || a === undefined) return true;
  if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
  return a.every((transform, i) => transform === b[i]);
}

/** Interceptors and transforms of a host expect one piece. */
function oneBuffer(body: CallBody): Buffer {
  return Buffer.isBuffer(body) ? body : Buffer.concat(body as readonly Buffer[]);
}

/**
 * One call on its way through axios: interceptors, then the pools, then interceptors again. The answer
 * is held back (the socket is paused) until axios has let its head through.
 */
class Ticket implements CallSink, CallControl {
  readonly #pools: EnginePools;
  readonly #call: EngineCall;
  readonly #sink: CallSink;
  #control: CallControl | null = null;
  #resolve: ((response: AxiosResponse) => void) | null = null;
  #reject: ((error: TransportError) => void) | null = null;
  #config: InternalAxiosRequestConfig | null = null;
  /** What came after the head while axios still held it; null once the head is through. */
  #waiting: (() => void)[] | null = [];
  #over = false;

  constructor(pools: EnginePools, call: EngineCall, sink: CallSink) {
    this.#pools = pools;
    this.#call = call;
    this.#sink = sink;
  }

  travel(client: AxiosInstance): void {
    const { engine, path, method, headers, body } = this.#call;
    const config = {
      baseURL: engine.origin + engine.prefix,
      url: path,
      method,
      headers: { ...headers },
      data: body === null ? undefined : oneBuffer(body),
      proxy: false as const,
      maxRedirects: 0,
      validateStatus: null,
      responseType: 'stream' as const,
      adapter: adapt,
      ticket: this,
    };
    client.request(config).then(
      (response) => this.#open(response),
      (error: unknown) => this.#end(error),
    );
  }

  /** The adapter's part: from axios's final config to the pools. */
  board(config: InternalAxiosRequestConfig): Promise<AxiosResponse> {
    return new Promise((resolve, reject) => {
      if (this.#over) {
        reject(new TransportError('closed', 'cut by the router'));
        return;
      }
      this.#resolve = resolve;
      this.#reject = reject;
      this.#config = config;
      const headers: Record<string, string> = {};
      for (const [name, value] of Object.entries(config.headers.toJSON())) {
        if (value !== undefined && value !== null) headers[name.toLowerCase()] = String(value);
      }
      const body = config.data === undefined ? null : Buffer.from(config.data as Buffer | string);
      const path = typeof config.url === 'string' ? config.url : this.#call.path;
      this.#control = this.#pools.send({ ...this.#call, path, headers, body }, this);
    });
  }

  sent(): void {
    this.#sink.sent();
  }

  head(status: number, headers: AnswerHeaders): void {
    const response = {
      data: null,
      status,
      statusText: '',
      headers: headers.all(),
      config: this.#config,
      request: null,
    };
    this.#control?.pause();
    this.#resolve?.(response as unknown as AxiosResponse);
    this.#resolve = null;
  }

  data(chunk: Buffer): void {
    this.#pass(() => this.#sink.data(chunk));
  }

  end(): void {
    this.#pass(() => this.#sink.end());
  }

  fail(error: TransportError): void {
    if (this.#resolve !== null) this.#reject?.(error);
    else this.#pass(() => this.#sink.fail(error));
  }

  pause(): void {
    this.#control?.pause();
  }

  resume(): void {
    this.#control?.resume();
  }

  cut(): void {
    this.#over = true;
    this.#control?.cut();
  }

  #pass(step: () => void): void {
    if (this.#over) return;
    if (this.#waiting === null) step();
    else this.#waiting.push(step);
  }

  #open(response: AxiosResponse): void {
    if (this.#over) return;
    const waiting = this.#waiting ?? [];
    this.#waiting = null;
    this.#sink.head(response.status, new ObjectHeaders(response.headers as Record<string, unknown>));
    for (const step of waiting) if (!this.#over) step();
    this.#control?.resume();
  }

  /** An interceptor, or the pools through axios, said no. Only the message is kept: an axios error holds keys. */
  #end(error: unknown): void {
    if (this.#over) return;
    this.#over = true;
    this.#control?.cut();
    const known = error instanceof TransportError;
    this.#sink.fail(known ? error : new TransportError('connection', 'an interceptor refused the call'));
  }
}

function adapt(config: InternalAxiosRequestConfig): Promise<AxiosResponse> {
  return (config as CallConfig).ticket.board(config);
}
