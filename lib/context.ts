/**
 * What the pipeline knows of one request.
 *
 * One private map, one writer for each field:
 *
 * | field | writer |
 * | --- | --- |
 * | requestId, clientRequestId, route, arrivedAt, at | `openContext` |
 * | identity | auth-strip |
 * | body | the first middleware that needs it |
 * | record | serving, through dispatch-engine |
 * | outcome | `settle`: the first one counts |
 */
import type { IncomingMessage } from 'node:http';
import { nanoid } from 'nanoid';
import type { NarwhalError } from './errors';
import { OUTCOMES, type Terminal } from './outcomes';
import type { ParsedBody } from './request/parse-body';
import { ServingRecord } from './serving/record';

/** Who the client is, as the host or the key list says. */
export interface Identity {
  readonly tenant: string | null;
  readonly [key: string]: unknown;
}

/** How the request ended. */
export interface Outcome {
  readonly terminal: Terminal;
  readonly reason: string | null;
  readonly status: number;
  /** For the journal: the message, with what the client may not know. */
  readonly error: string | null;
}

/** Internal state of one request. Middlewares reach it with `openContext`. */
export class RequestContext {
  readonly requestId: string;
  readonly clientRequestId: string | null;
  /** Path as the client wrote it, without the query string. */
  readonly route: string;
  /** Monotonic ms. */
  readonly arrivedAt: number;
  readonly at: Date;
  identity: Identity | null = null;
  body: ParsedBody | null = null;
  /** The one reading of the body, while it is under way and after. */
  reading: Promise<ParsedBody> | null = null;
  readonly record = new ServingRecord();
  outcome: Outcome | null = null;
  /** What an outcome `internal` came from; for the log. */
  cause: unknown = null;
  /** Somebody has written that to the log. */
  isLogged = false;
  /** Monotonic ms at which the answer was given out of hand, good or bad; null where the client left before. */
  settledAt: number | null = null;
  /** What must end before the journal row can be written. */
  #pending = 0;
  #settled: (() => void)[] = [];

  constructor(req: IncomingMessage) {
    this.requestId = nanoid();
    this.clientRequestId = clientId(req);
    this.route = pathOf(req);
    this.arrivedAt = performance.now();
    this.at = new Date();
  }

  /** Notes how the request ended. The first outcome stays; later ones are consequences of it. */
  settle(outcome: Outcome): void {
    this.settledAt ??= performance.now();
    this.outcome ??= outcome;
  }

  /** Notes the end that an error is, and the status that was sent for it. */
  settleError(error: NarwhalError, status: number): void {
    const { outcome, reason, cause } = error;
    if (reason === 'internal') this.cause ??= cause;
    this.settle({
      terminal: OUTCOMES[outcome].terminal,
      reason,
      status,
      error: error.detail ?? error.message,
    });
  }

  /** The response is over: this is how the request ended, also where a good end was cut short. */
  conclude(outcome: Outcome): void {
    this.outcome = outcome;
  }

  /** Something still works for this request after its response ended: the row waits for it. */
  hold(): () => void {
    this.#pending++;
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      this.#pending--;
      if (this.#pending > 0) return;
      const settled = this.#settled;
      this.#settled = [];
      for (const step of settled) step();
    };
  }

  /** Calls back when nothing works for this request any more: at once, or later. */
  whenIdle(step: () => void): void {
    if (this.#pending === 0) step();
    else this.#settled.push(step);
  }
}

const contexts = new WeakMap<IncomingMessage, RequestContext>();

/** The context of a request; made on the first call, so that any middleware can be first. */
export function openContext(req: IncomingMessage): RequestContext {
  let context = contexts.get(req);
  if (context === undefined) {
    context = new RequestContext(req);
    contexts.set(req, context);
  }
  return context;
}

/** What a host may know of a request. */
export interface NarwhalContext {
  /** The router's own id: the response's `x-request-id`, and the stem of the ids towards engines. */
  readonly requestId: string;
  /** The `x-request-id` that the client or ingress sent, where it is fit to be kept. */
  readonly clientRequestId: string | null;
  readonly identity: Identity | null;
  /** The parsed body; undefined until a middleware has read it. */
  readonly body: Readonly<Record<string, unknown>> | undefined;
  /** Monotonic milliseconds (`performance.now()`); null until they happen. */
  readonly timings: {
    readonly arrivedAt: number;
    readonly prefillAnsweredAt: number | null;
    readonly firstOutputAt: number | null;
    readonly lastOutputAt: number | null;
  };
  /** How the request ended; null while it runs. */
  readonly terminal: Terminal | null;
  readonly reason: string | null;
}

/**
 * What the pipeline knows of a request.
 *
 * @returns undefined for a request that no middleware of this package has seen.
 */
export function narwhalContext(req: IncomingMessage): NarwhalContext | undefined {
  const context = contexts.get(req);
  if (context === undefined) return undefined;
  const { requestId, clientRequestId, identity, body, arrivedAt, record, outcome } = context;
  const { prefillAnsweredAt, firstOutputAt, lastOutputAt } = record;
  return Object.freeze({
    requestId,
    clientRequestId,
    identity,
    body: body?.value,
    timings: Object.freeze({ arrivedAt, prefillAnsweredAt, firstOutputAt, lastOutputAt }),
    terminal: outcome?.terminal ?? null,
    reason: outcome?.reason ?? null,
  });
}

/** Longest client id that is kept. */
const MAX_CLIENT_ID = 128;

function clientId(req: IncomingMessage): string | null {
  const value = req.headers['x-request-id'];
  if (typeof value !== 'string' || value.length > MAX_CLIENT_ID) return null;
  return /^[\x20-\x7e]+$/.test(value) ? value : null;
}

function pathOf(req: IncomingMessage): string {
  const url = (req as { originalUrl?: string }).originalUrl ?? req.url ?? '';
  const query = url.indexOf('?');
  const path = query === -1 ? url : url.slice(0, query);
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
}
