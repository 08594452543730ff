/**
 * What the pipeline knows of one request.
 *
 * It stands on the request itself, under a private symbol. A `WeakMap` would do the same, but the young
 * generation's garbage collector holds all its values for alive: each finished request was moved to the old
 * generation, which tripled the collector's work (33 us of a small request, 9 without; `npm run bench -- json`).
 *
 * One writer for each field:
 *
 * | field | writer |
 * | --- | --- |
 * | requestId, clientRequestId, route, arrivedAt, at | `openContext` |
 * | identity | auth-strip |
 * | body | the first middleware that needs it |
 * | record | serving, through dispatch-engine |
 * | outcome | `settle`: the first one counts |
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { NarwhalError } from './errors';
import { newId } from './ids';
import { OUTCOMES, type Terminal } from './outcomes';
import type { ParsedBody } from './request/parsed-body';
import { pathOf, withoutSlash } from './request/route';
import { ServingRecord } from './serving/record';

/** Who the client is, as the host or the key list says. */
export interface Identity {
  /** Whose limits and shares it counts against; null where it has none of its own. */
  readonly tenant: string | null;
  /** Whatever else the key list or the host's check said. */
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
  /** Wall clock, ms. */
  readonly at: number;
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
  /** The response carries the request id: setting a header once for each middleware would cost 2 us. */
  isMarked = false;
  /** The journals that will have a row of this request; journal-record is the only writer. */
  readonly journals: object[] = [];
  /** What must end before the journal row can be written. */
  #pending = 0;
  #settled: (() => void)[] = [];
  /** What is called when the response is over; null until somebody asks for it. */
  #closing: (() => void)[] | null = null;

  constructor(req: IncomingMessage) {
    this.requestId = newId();
    this.clientRequestId = clientId(req);
    this.route = wholePath(req);
    this.arrivedAt = performance.now();
    this.at = Date.now();
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

  /**
   * Calls back when the response is over, in the order of asking. Not for a response that is over already.
   *
   * One listener serves all who ask: five of them cost a small request 4 us.
   */
  whenClosed(res: ServerResponse, step: () => void): void {
    if (this.#closing !== null) {
      this.#closing.push(step);
      return;
    }
    const steps = [step];
    this.#closing = steps;
    res.once('close', () => {
      for (const next of steps) next();
    });
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

const CONTEXT = Symbol('express-narwhal context');

type Known = IncomingMessage & { [CONTEXT]?: RequestContext };

/** The context of a request; made on the first call, so that any middleware can be first. */
export function openContext(req: IncomingMessage): RequestContext {
  const known = req as Known;
  known[CONTEXT] ??= new RequestContext(req);
  return known[CONTEXT];
}

/** What a host may know of a request. */
export interface NarwhalContext {
  /** The router's own id: the response's `x-request-id`, and the stem of the ids towards engines. */
  readonly requestId: string;
  /** The `x-request-id` that the client or ingress sent, where it is fit to be kept. */
  readonly clientRequestId: string | null;
  /** Who the client is; null until `authStrip` has asked. */
  readonly identity: Identity | null;
  /** The parsed body; undefined until a middleware has read it. */
  readonly body: Readonly<Record<string, unknown>> | undefined;
  /** Monotonic milliseconds (`performance.now()`); null until they happen. */
  readonly timings: {
    /** The first middleware saw the request. */
    readonly arrivedAt: number;
    /** The prefill leg's answer, with its handoff, was here. */
    readonly prefillAnsweredAt: number | null;
    /** The first event with output came from the engine. */
    readonly firstOutputAt: number | null;
    /** The last one did. */
    readonly lastOutputAt: number | null;
  };
  /** How the request ended; null while it runs. */
  readonly terminal: Terminal | null;
  /** Why it ended so: the word of `x-narwhal-reason`; null for a good end, and while it runs. */
  readonly reason: string | null;
}

/**
 * What the pipeline knows of a request, at this moment.
 *
 * @example
 * ```ts
 * import express from 'express';
 * import { narwhalContext, narwhalRouter } from 'express-narwhal';
 *
 * const app = express();
 * app.use((req, res, next) => {
 *   res.once('finish', () => console.log(narwhalContext(req)?.terminal));
 *   next();
 * });
 * app.use(narwhalRouter());
 * ```
 *
 * @returns a frozen copy; undefined for a request that no middleware of this package has seen.
 */
export function narwhalContext(req: IncomingMessage): NarwhalContext | undefined {
  const context = (req as Known)[CONTEXT];
  if (context === undefined) return undefined;
  const { requestId, clientRequestId, identity, body, arrivedAt, record, outcome } = context;
  const { prefillAnsweredAt, firstOutputAt, lastOutputAt } = record;
  return Object.freeze({
    requestId,
    clientRequestId,
    identity,
    // Not before somebody asks: the text is parsed for it.
    get body() {
      return body?.value;
    },
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

/** The path as the client wrote it: Express keeps it where it takes a mount path off `url`. */
function wholePath(req: IncomingMessage): string {
  const target = (req as { originalUrl?: string }).originalUrl ?? req.url ?? '';
  return withoutSlash(pathOf(target));
}
