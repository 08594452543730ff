/** An engine that sends exact bytes, and a caller that notes all that it hears. */
import net, { type AddressInfo, type Socket } from 'node:net';
import tls from 'node:tls';
import type { EngineConfig } from '../../../lib/config/fleet-config';
import { EnginePools, type PoolLimits } from '../../../lib/engines/pools';
import type {
  AnswerHeaders,
  CallControl,
  CallSink,
  EngineCall,
  TransportError,
} from '../../../lib/engines/transport';
import { closeLater } from '../../helpers/close-all';
import { CERTIFICATE, KEY } from './certificate';

/** A request that the engine has read whole. */
export interface Turn {
  readonly socket: Socket;
  readonly head: string;
  readonly body: Buffer;
  /** Which connection it came on, and its place among the requests of that one; from 0. */
  readonly connection: number;
  readonly nth: number;
}

export interface EngineOptions {
  readonly host?: string;
  readonly secure?: boolean;
  /** Called with each connection, before it is read. False: what comes on it is not read as requests. */
  readonly onSocket?: (socket: Socket, connection: number) => boolean | undefined;
}

export interface RawEngine {
  readonly port: number;
  readonly config: EngineConfig;
  readonly sockets: readonly Socket[];
  /** Every request, as it was read. */
  readonly turns: readonly Turn[];
}

export const OK = 'HTTP/1.1 200 OK\r\n';

/** A whole answer. */
export function answer(body: string, fields = ''): string {
  return `${OK}${fields}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

/** Starts an engine; it is closed after the test. */
export async function openEngine(
  onTurn: (turn: Turn) => void,
  { host = '127.0.0.1', secure = false, onSocket }: EngineOptions = {},
): Promise<RawEngine> {
  const sockets: Socket[] = [];
  const turns: Turn[] = [];
  const accept = (socket: Socket): void => {
    const connection = sockets.push(socket) - 1;
    socket.on('error', () => undefined);
    if (onSocket?.(socket, connection) === false) return;
    let held = Buffer.alloc(0);
    let nth = 0;
    socket.on('data', (bytes: Buffer) => {
      held = Buffer.concat([held, bytes]);
      for (;;) {
        const end = held.indexOf('\r\n\r\n');
        if (end === -1) return;
        const head = held.toString('latin1', 0, end + 2);
        const from = end + 4;
        const to = from + Number(/\r\ncontent-length: (\d+)\r\n/.exec(head)?.[1] ?? 0);
        if (held.length < to) return;
        const turn = { socket, head, body: held.subarray(from, to), connection, nth: nth++ };
        held = held.subarray(to);
        turns.push(turn);
        onTurn(turn);
      }
    });
  };
  const server = secure
    ? tls.createServer({ key: KEY, cert: CERTIFICATE }, accept).on('tlsClientError', () => undefined)
    : net.createServer(accept);
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  closeLater({
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  });
  const { port } = server.address() as AddressInfo;
  return { port, config: engineAt(port, host, secure), sockets, turns };
}

export function engineAt(port: number, host = '127.0.0.1', secure = false): EngineConfig {
  const name = host.includes(':') ? `[${host}]` : host;
  const origin = `${secure ? 'https' : 'http'}://${name}:${port}`;
  return { iid: 'e0', url: origin, origin, prefix: '', role: 'both', pin: false };
}

/** Pools with generous limits but those given; closed after the test. */
export function openPools(limits: Partial<PoolLimits> = {}): EnginePools {
  const generous = { connectTimeoutS: 10, keepaliveS: 60, maxSocketAgeS: 60, sockets: null };
  return closeLater(new EnginePools({ ...generous, ...limits }));
}

/** A call under way, and all that is heard of it. */
export class Call implements CallSink {
  /** In their order; body pieces that follow each other are one. */
  readonly events: ('sent' | 'head' | 'data' | 'end' | 'fail')[] = [];
  readonly over: Promise<this>;
  status = 0;
  headers: AnswerHeaders | null = null;
  error: TransportError | null = null;
  received = 0;
  control!: CallControl;
  /** Called in the middle of an event, as a leg is. */
  during: ((event: Call['events'][number], call: Call) => void) | null = null;
  readonly #parts: Buffer[] = [];
  #resolve!: (call: this) => void;

  constructor() {
    this.over = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  get body(): Buffer {
    return Buffer.concat(this.#parts);
  }

  get text(): string {
    return this.body.toString('latin1');
  }

  sent(): void {
    this.#note('sent');
  }

  head(status: number, headers: AnswerHeaders): void {
    this.status = status;
    this.headers = headers;
    this.#note('head');
  }

  data(chunk: Buffer): void {
    this.#parts.push(chunk);
    this.received += chunk.length;
    this.#note('data');
  }

  end(): void {
    this.#note('end');
    this.#resolve(this);
  }

  fail(error: TransportError): void {
    this.error = error;
    this.#note('fail');
    this.#resolve(this);
  }

  #note(event: Call['events'][number]): void {
    if (event !== 'data' || this.events.at(-1) !== 'data') this.events.push(event);
    this.during?.(event, this);
  }
}

/** Sends a call. */
export function send(
  pools: EnginePools,
  engine: EngineConfig,
  call: Partial<EngineCall> = {},
  during: Call['during'] = null,
): Call {
  const sink = new Call();
  sink.during = during;
  const body = call.body ?? null;
  const whole = { engine, method: body === null ? 'GET' : 'POST', path: '/', headers: {}, body } as const;
  sink.control = pools.send({ ...whole, ...call }, sink);
  return sink;
}

/** Sends a call and waits for its end. */
export function ask(pools: EnginePools, engine: EngineConfig, call: Partial<EngineCall> = {}): Promise<Call> {
  return send(pools, engine, call).over;
}

/** Waits until it is so. */
export async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await pause(5);
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Waits until the other side has closed the socket. */
export async function closed(socket: Socket): Promise<void> {
  await until(() => socket.destroyed);
}

/** @returns what stays of a call when all that could come has come. */
export async function settled(call: Call): Promise<Call['events']> {
  await pause(30);
  return call.events;
}
