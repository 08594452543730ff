/** One connection to an engine: carries one call after another. */
import net, { type LookupFunction, type NetConnectOpts, type Socket } from 'node:net';
import tls from 'node:tls';
import type { Place } from '../../roster';
import { type CallBody, ONE_PIECE_BYTES } from '../transport';
import type { RawHeaders } from './raw-headers';
import { ResponseError } from './response-error';
import { ResponseParser, type ResponseSink } from './response-parser';

/** Where a connection leads. */
export interface Address {
  readonly isSecure: boolean;
  readonly hostname: string;
  readonly port: number;
  /** For the `host` field: name and port as the fleet file has them. */
  readonly authority: string;
}

/** A request, ready to be written. */
export interface WireRequest {
  /** Request line and header fields, without the `host` field and without the empty line. */
  readonly line: string;
  readonly fields: string;
  readonly body: CallBody | null;
}

/** What a call hears of its connection. After `ended` or `broken` nothing follows. */
export interface Passenger {
  readonly request: WireRequest;
  /** The request is being written. @param answered how many answers its connection has carried before. */
  boarded(answered: number): void;
  head(status: number, headers: RawHeaders): void;
  body(bytes: Buffer): void;
  ended(): void;
  broken(error: Error): void;
}

/** Who keeps connections. */
export interface ConnectionOwner {
  /** It may carry another call. */
  free(connection: Connection): void;
  gone(connection: Connection): void;
}

/** Limits of a connection. */
export interface ConnectionLimits {
  readonly connectTimeoutMs: number;
  readonly lookup?: LookupFunction | undefined;
}

/** The connection was not there in time. */
export class ConnectTimeoutError extends Error {
  override readonly name = 'ConnectTimeoutError';
}

/** The engine has closed the connection in mid-answer. */
export class ClosedError extends Error {
  override readonly name = 'ClosedError';
}

/** TCP probes of a connection that says nothing: a long prefill must not be taken for a dead peer. */
const PROBE_AFTER_MS = 60_000;
/** How much sooner than the engine a free connection is given up. */
const HINT_MARGIN_MS = 1000;

/**
 * One buffer for what is read on every connection: it is parsed, and its body copied, before the next read.
 * Node reads into it straight, which spares a buffer and a stream's queue for each read. Not on Windows, where a
 * read is begun with the buffer before there is anything to read.
 */
const SHARED = process.platform === 'win32' ? null : Buffer.allocUnsafeSlow(64 * 1024);

/** Opens on construction, for the call that is given. */
export class Connection implements ResponseSink {
  /** Answers that it has carried. */
  answered = 0;
  /** Monotonic ms at which it was opened, and at which its last call ended. */
  readonly openedAt = performance.now();
  idleSince = 0;
  /** How long it may be free, as far as the engine has said; ms. */
  idleLimitMs = Number.POSITIVE_INFINITY;
  /** Where its owner keeps it. */
  place: Place<Connection> | null = null;
  readonly #owner: ConnectionOwner;
  readonly #authority: string;
  readonly #socket: Socket;
  readonly #parser = new ResponseParser(this);
  #passenger: Passenger | null;
  #connectTimer: NodeJS.Timeout | null;
  #error: Error | null = null;
  /** The answer is whole; the present read is not over yet. */
  #isComplete = false;
  #isReusable = false;
  #isPaused = false;

  constructor(owner: ConnectionOwner, address: Address, limits: ConnectionLimits, first: Passenger) {
    this.#owner = owner;
    this.#authority = address.authority;
    this.#passenger = first;
    this.#socket = this.#connect(address, limits.lookup);
    this.#connectTimer = setTimeout(() => {
      this.destroy(new ConnectTimeoutError(`not connected within ${limits.connectTimeoutMs} ms`));
    }, limits.connectTimeoutMs);
  }

  /** Nothing can be sent any more. */
  get isDead(): boolean {
    return this.#socket.destroyed;
  }

  /** Carries a call. Only when it is free. */
  carry(passenger: Passenger): void {
    this.#passenger = passenger;
    this.#socket.ref();
    this.#send(passenger);
  }

  /** Ends the present call and closes. The call hears nothing more. */
  cut(): void {
    this.#passenger = null;
    this.destroy();
  }

  /** Closes. A call that it carries hears of the error. */
  destroy(error: Error | null = null): void {
    this.#error ??= error;
    this.#socket.destroy();
  }

  /** Stops reading: the engine is held back by TCP. */
  pause(): void {
    this.#isPaused = true;
    if (SHARED === null || this.#socket instanceof tls.TLSSocket) this.#socket.pause();
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#socket.resume();
  }

  head(status: number, headers: RawHeaders): void {
    const hint = headers.get('keep-alive');
    if (hint !== null) this.#takeHint(hint);
    this.#passenger?.head(status, headers);
  }

  body(bytes: Buffer): void {
    this.#passenger?.body(bytes);
  }

  complete(reusable: boolean): void {
    this.#isComplete = true;
    this.#isReusable = reusable;
  }

  #connect({ isSecure, hostname, port }: Address, lookup: LookupFunction | undefined): Socket {
    const base = {
      host: hostname,
      port,
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: PROBE_AFTER_MS,
    };
    const options = { ...base, ...(lookup === undefined ? {} : { lookup }) };
    const readsStraight = !isSecure && SHARED !== null;
    const socket = isSecure
      ? tls.connect({ ...options, ...nameOf(hostname), ALPNProtocols: ['http/1.1'] })
      : net.connect(
          (readsStraight ? { ...options, onread: this.#reader(SHARED) } : options) as NetConnectOpts,
        );
    if (!readsStraight) socket.on('data', (bytes: Buffer) => this.#read(bytes));
    socket.on(isSecure ? 'secureConnect' : 'connect', () => this.#opened());
    socket.on('end', () => this.#ended());
    socket.on('error', (error) => {
      this.#error ??= error;
    });
    socket.on('close', () => this.#closed());
    return socket;
  }

  /** @returns false from the callback to stop reading until `resume`. */
  #reader(buffer: Buffer): { buffer: Buffer; callback: (length: number) => boolean } {
    return {
      buffer,
      callback: (length) => {
        this.#read(length === buffer.length ? buffer : buffer.subarray(0, length));
        return !this.#isPaused;
      },
    };
  }

  #opened(): void {
    this.#stopWaiting();
    // `tls.connect` takes these two as options, and forgets them.
    if (this.#socket instanceof tls.TLSSocket)
      this.#socket.setNoDelay(true).setKeepAlive(true, PROBE_AFTER_MS);
    if (this.#passenger === null) this.destroy();
    else this.#send(this.#passenger);
  }

  #send(passenger: Passenger): void {
    const { line, fields, body } = passenger.request;
    this.#parser.expect();
    const head = `${line}host: ${this.#authority}\r\nconnection: keep-alive\r\n${fields}\r\n`;
    passenger.boarded(this.answered);
    if (this.#passenger !== passenger) return;
    if (body === null) {
      this.#socket.write(head, 'latin1');
    } else if (Buffer.isBuffer(body) && body.length <= ONE_PIECE_BYTES) {
      const whole = Buffer.allocUnsafe(head.length + body.length);
      whole.write(head, 'latin1');
      body.copy(whole, head.length);
      this.#socket.write(whole);
    } else {
      this.#socket.cork();
      this.#socket.write(head, 'latin1');
      for (const part of Buffer.isBuffer(body) ? [body] : body) this.#socket.write(part);
      this.#socket.uncork();
    }
  }

  #read(bytes: Buffer): void {
    try {
      this.#parser.push(bytes);
    } catch (error) {
      // Bytes behind a whole answer: the answer is good, the connection is not.
      this.#isReusable = false;
      if (!this.#isComplete) {
        this.destroy(
          error instanceof ResponseError ? error : new ResponseError('the answer could not be read'),
        );
        return;
      }
    }
    if (this.#isComplete) this.#finish();
  }

  #finish(): void {
    const passenger = this.#passenger;
    this.#isComplete = false;
    this.#passenger = null;
    this.answered += 1;
    // The answer may come before the request is written whole: what follows would not be the next one's.
    if (this.#isReusable && this.#socket.writableLength === 0 && !this.isDead) {
      if (this.#isPaused) this.resume();
      this.#socket.unref();
      this.#owner.free(this);
    } else {
      this.destroy();
    }
    passenger?.ended();
  }

  /** `Keep-Alive: timeout=5`: it is given up a second before that, so that the two ends do not cross. */
  #takeHint(hint: string): void {
    const seconds = /\btimeout=(\d{1,9})\b/i.exec(hint)?.[1];
    if (seconds !== undefined) this.idleLimitMs = Number(seconds) * 1000 - HINT_MARGIN_MS;
  }

  /** The engine has closed its side. */
  #ended(): void {
    if (this.#parser.end() && this.#isComplete) this.#finish();
    this.destroy();
  }

  #closed(): void {
    this.#stopWaiting();
    const passenger = this.#passenger;
    this.#passenger = null;
    // First the call: one that is sent again takes this connection's place, and a pool is closed when all have ended.
    passenger?.broken(this.#error ?? new ClosedError('the engine closed the connection'));
    this.#owner.gone(this);
  }

  #stopWaiting(): void {
    if (this.#connectTimer !== null) clearTimeout(this.#connectTimer);
    this.#connectTimer = null;
  }
}

/** TLS servers choose their certificate by name; an address is none. */
function nameOf(hostname: string): { servername?: string } {
  return net.isIP(hostname) === 0 ? { servername: hostname } : {};
}
