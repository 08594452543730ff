/** One HTTP call of a request: one timer, one way to end, cut when the client leaves. */
import type { FleetConfig } from '../config/fleet-config';
import type { Engine } from '../engines/engine';
import { EngineFault, type FaultDetails } from '../engines/fault';
import type { Fleet } from '../engines/fleet';
import type { AnswerHeaders, CallBody, CallControl, CallSink, TransportError } from '../engines/transport';
import { type ClientGoneError, NarwhalError } from '../errors';
import type { Leg as LegName, OutcomeName } from '../outcomes';
import { LegTimer, type Limit } from './deadlines';
import type { LegWatch } from './leg-watch';
import type { Departure, Presence } from './presence';
import { retryAfterSeconds } from './retry-after';

/** What a leg needs to know. */
export interface LegOrder {
  readonly fleet: Fleet;
  readonly engine: Engine;
  readonly leg: LegName;
  /** Route path, e.g. `/v1/completions`. */
  readonly path: string;
  readonly backendId: string;
  readonly body: CallBody;
  /** Estimated tokens of the prompt. */
  readonly tokens: number;
  /** `traceparent` and `tracestate`: of the leg's own span, else of the client's request, where it had them. */
  readonly trace: Readonly<Record<string, string>>;
  readonly watch: LegWatch;
  readonly presence: Presence;
  /** Monotonic ms at which the whole request ends. */
  readonly deadline: number;
  /** Called when the head of a 200 has come: the engine has taken the request. */
  readonly taken: (() => void) | null;
}

/** Longest error body that is read. */
const MAX_ERROR_BYTES = 64 * 1024;

/** A running call. `T` is what a good end yields. */
export abstract class Leg<T> implements CallSink {
  readonly result: Promise<T>;
  protected readonly order: LegOrder;
  protected readonly timer: LegTimer;
  protected control!: CallControl;
  /** Status of an answer that is not a 200; its body is being collected. */
  #errorStatus: number | null = null;
  #errorHeaders: AnswerHeaders | null = null;
  #errorParts: Buffer[] = [];
  #errorBytes = 0;
  #resolve!: (value: T) => void;
  #reject!: (error: Error) => void;
  #forget: () => void = () => {};
  #settled = false;
  #wasSent = false;
  #hasBegun = false;

  constructor(order: LegOrder) {
    this.order = order;
    this.timer = new LegTimer(order.deadline, (limit) => this.#expire(limit));
    this.result = new Promise<T>((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  /** Sends the call. */
  start(): Promise<T> {
    const { fleet, engine, path, body, presence, backendId, trace, watch } = this.order;
    const { connectTimeoutS, poolTimeoutS } = this.limits;
    // The socket's own connect limit is the transport's; this one is for the wait in front of it.
    this.timer.arm('pool', connectTimeoutS + poolTimeoutS);
    this.#forget = presence.onLeave((why) => this.depart(why));
    const headers = engineHeaders(fleet.config, backendId, trace);
    const call = { engine: engine.config, method: 'POST', path, headers, body } as const;
    this.control = watch.send(() => fleet.transport.send(call, this));
    if (this.#settled) this.control.cut();
    return this.result;
  }

  protected get limits(): FleetConfig['engine'] {
    return this.order.fleet.config.engine;
  }

  /**
   * What the engine made of the request. `lost`: it was sent and the leg ended before any answer, so that
   * nobody can say whether it was taken.
   */
  get fate(): 'unsent' | 'refused' | 'lost' | 'taken' {
    if (this.#errorStatus !== null) return 'refused';
    if (!this.#wasSent) return 'unsent';
    return this.#hasBegun ? 'taken' : 'lost';
  }

  /** The head of a 200 has come. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  sent(): void {
    this.#wasSent = true;
    if (!this.#settled) this.underway();
  }

  /** The request is on a socket: the leg's own limit begins. */
  protected abstract underway(): void;
  /** The head of a 200. */
  protected abstract opened(headers: AnswerHeaders): void;
  /** Bytes of a 200. */
  protected abstract received(chunk: Buffer): void;
  /** The clean end of a 200. */
  protected abstract ended(): void;

  head(status: number, headers: AnswerHeaders): void {
    if (status === 200) {
      this.#hasBegun = true;
      this.order.taken?.();
      try {
        this.opened(headers);
      } catch (error) {
        this.#threw(error);
      }
    } else {
      this.#errorStatus = status;
      this.#errorHeaders = headers;
    }
  }

  data(chunk: Buffer): void {
    if (this.#settled) return;
    if (this.#errorStatus === null) {
      try {
        this.received(chunk);
      } catch (error) {
        this.#threw(error);
      }
      return;
    }
    this.#errorBytes += chunk.length;
    this.#errorParts.push(chunk);
    if (this.#errorBytes > MAX_ERROR_BYTES) this.#endWithError();
  }

  end(): void {
    if (this.#settled) {
      this.afterSettled();
    } else if (this.#errorStatus === null) {
      try {
        this.ended();
      } catch (error) {
        this.#threw(error);
      }
    } else {
      this.#endWithError();
    }
  }

  fail(error: TransportError | EngineFault | NarwhalError | ClientGoneError): void {
    if (this.#settled) return;
    if ('failure' in error) {
      if (this.#errorStatus === null) this.#settle(this.#transportFault(error), undefined);
      else this.#endWithError();
    } else {
      this.#settle(error, undefined);
    }
  }

  /** The leg ends from outside: its client left, or a limit ran out. */
  protected depart(why: EngineFault | Departure): void {
    this.fail(why);
  }

  /** Ends well. The call itself may still be running: `afterSettled` hears of its end. */
  protected succeed(value: T): void {
    if (!this.#settled) this.#settle(null, value);
  }

  /** The leg has ended badly. */
  protected failed(): void {}

  /** The call ended after the leg had settled. */
  protected afterSettled(): void {}

  protected fault(outcome: OutcomeName, detail: string, more: Partial<FaultDetails> = {}): EngineFault {
    const { engine, leg } = this.order;
    return new EngineFault(outcome, { iid: engine.iid, leg, detail, ...more });
  }

  /** The fault that an engine's error answer, or error frame, is. */
  protected answerFault(status: number, text: string, headers: AnswerHeaders | null = null): EngineFault {
    const { fleet } = this.order;
    const scrub = (words: string): string => scrubbed(words, fleet.config);
    const reading = fleet.dialect.readError(status, text);
    if (reading.kind === 'refusal') {
      const refusal = { ...reading.refusal, message: scrub(reading.refusal.message) };
      // Its message may quote the request, and the detail goes into the journal: the words are the client's alone.
      const words = [status, refusal.type, refusal.code].filter((word) => word !== null).join(' ');
      return this.fault('engineRefused', words, { status, refusal });
    }
    const outcomes = {
      auth: 'engineAuth',
      timeout: 'engineTimeout',
      overloaded: 'engineOverloaded',
      error: 'engineError',
    } as const;
    const retryAfterS = retryAfterSeconds(headers?.get('retry-after') ?? undefined, Date.now());
    return this.fault(outcomes[reading.kind], `${status} ${scrub(reading.text)}`, { status, retryAfterS });
  }

  #endWithError(): void {
    const text = Buffer.concat(this.#errorParts).toString('utf8');
    this.#settle(this.answerFault(this.#errorStatus ?? 500, text, this.#errorHeaders), undefined);
  }

  #settle(error: Error | null, value: T | undefined): void {
    this.#settled = true;
    this.timer.clear();
    this.#forget();
    this.order.watch.end(error);
    if (error === null) {
      this.#resolve(value as T);
      return;
    }
    this.failed();
    // `control` is missing only when the call failed while it was being sent.
    (this.control as CallControl | undefined)?.cut();
    this.#reject(error);
  }

  /** A throw inside a transport callback would be lost there. */
  #threw(error: unknown): void {
    if (!this.#settled) this.#settle(error as Error, undefined);
  }

  #transportFault({ failure, message }: TransportError): EngineFault {
    switch (failure) {
      case 'unreachable':
        return this.fault('engineUnreachable', message);
      case 'connect_timeout':
        return this.fault('engineTimeout', message, {
          message: 'engine could not be reached within connect_timeout_s',
        });
      case 'answer':
        return this.fault('badAnswer', message);
      case 'connection':
      case 'closed':
        return this.fault('engineConnection', message);
    }
  }

  #expire(limit: Limit): void {
    this.depart(limit === 'request' ? requestExpired() : this.#limitFault(limit));
  }

  #limitFault(limit: Exclude<Limit, 'request'>): EngineFault {
    if (limit === 'pool') return this.fault('localPool', 'no free connection in time');
    const message = {
      prefill: 'engine did not answer within prefill_timeout_s',
      first_token: 'engine sent no output within first_token_timeout_s',
      gap: 'engine sent nothing for decode_read_timeout_s',
    }[limit];
    return this.fault('engineTimeout', message, { message });
  }
}

/** The error of a request whose whole time is over. */
export function requestExpired(): NarwhalError {
  return new NarwhalError('requestExpired', 'the request was not done within request_timeout_s');
}

/** An allow-list: nothing of the client's headers goes on but the trace context. */
export function engineHeaders(
  { engine }: FleetConfig,
  backendId: string,
  trace: Readonly<Record<string, string>>,
): Record<string, string> {
  const headers: Record<string, string> = { 'content-type': 'application/json', 'x-request-id': backendId };
  if (engine.apiKey !== null) headers['authorization'] = `Bearer ${engine.apiKey}`;
  // A spread of nothing still copies: most requests bring no trace.
  for (const name in trace) headers[name] = trace[name]!;
  return headers;
}

/** Takes addresses of engines and their key out of an engine's words: it may name another one, its producer. */
function scrubbed(text: string, { engine, engines }: FleetConfig): string {
  let clean = text;
  for (const { origin } of engines) {
    const { host, hostname } = new URL(origin);
    const name = hostname.replaceAll(/[.[\]]/g, '\\$&');
    // Any port: an engine also names ports that the fleet file does not, such as that of the KV transfer.
    clean = clean.replaceAll(new RegExp(`(https?://)?${name}:\\d+`, 'g'), '[engine]');
    clean = clean.replaceAll(origin, '[engine]').replaceAll(host, '[engine]');
  }
  if (engine.apiKey !== null) clean = clean.replaceAll(engine.apiKey, '[key]');
  return clean;
}
