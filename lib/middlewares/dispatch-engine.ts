/** Hands an admitted request to the fleet. */
import type { IncomingMessage } from 'node:http';
import type { Outcome, RequestContext } from '../context';
import { Fleet } from '../engines/fleet';
import { ClientGoneError, ConfigError, isNarwhalError, type NarwhalError } from '../errors';
import { checkLogger, type Logger } from '../logger';
import { checkOptions } from '../options';
import { guessRoute } from '../request/route';
import { checkRequired, checkReserved } from '../request/schema';
import type { Serving } from '../serving/dispatch';
import { createServing, serveRequest } from '../serving/serve-request';
import { bodyOf } from './body-guard';
import {
  checkOnError,
  enter,
  type NarwhalHandler,
  type OnError,
  type RefusalOptions,
  refuse,
  toNarwhalError,
} from './handler';

/** Options of `dispatchEngine`. */
export interface DispatchEngineOptions extends RefusalOptions {
  /** The fleet that serves: `createFleet` or `loadFleet`. Closing it stays the caller's. */
  readonly fleet: Fleet;
  /** For faults that an operator must act on. Default: none. */
  readonly logger?: Logger | undefined;
}

const KEYS = ['fleet', 'logger', 'onError'] as const;

/**
 * Serves a completion request: a prefill leg, a decode leg, the client's answer.
 *
 * Needs nothing of the other middlewares: it reads the body if nobody has, and refuses one without a
 * prompt. Client headers never reach an engine, whoever is mounted before.
 *
 * @example
 * ```ts
 * import express from 'express';
 * import { dispatchEngine, loadFleet } from 'express-narwhal';
 *
 * const app = express();
 * app.post('/v1/chat/completions', dispatchEngine({ fleet: loadFleet('./fleet.json'), logger: console }));
 * ```
 *
 * @throws {ConfigError} without a fleet, or for bad options.
 */
export function dispatchEngine(options: DispatchEngineOptions): NarwhalHandler {
  const given = checkOptions('dispatchEngine', options, KEYS);
  const onError = checkOnError('dispatchEngine', given.onError);
  const { fleet, logger } = given;
  if (!(fleet instanceof Fleet)) {
    throw new ConfigError(
      'dispatchEngine: fleet is missing; make one with createFleet(config) or loadFleet(path)',
    );
  }
  if (logger !== undefined) checkLogger('dispatchEngine: logger', logger);
  return dispatchTo(createServing(fleet), logger, onError);
}

/** Checks what the router's own options say of dispatch. @throws {ConfigError} for bad options. */
export function checkDispatchOptions(options: RefusalOptions | undefined): OnError {
  return checkOnError('dispatchEngine', checkOptions('dispatchEngine', options, ['onError']).onError);
}

/** The middleware itself, over serving parts that the router shares. */
export function dispatchTo(serving: Serving, logger: Logger | undefined, onError: OnError): NarwhalHandler {
  const { maxRequestBytes } = serving.fleet.config.serving;
  return function dispatch(req, res, next) {
    const context = enter(req, res);
    void run();

    async function run(): Promise<void> {
      const release = context.hold();
      const { record, requestId, arrivedAt } = context;
      try {
        const body = context.body ?? (await bodyOf(req, context, maxRequestBytes));
        const route = guessRoute(context.route, body);
        const refusal = checkReserved(body.outline) ?? checkRequired(body.outline, route);
        if (refusal !== null) throw refusal;
        const whenClosed = (step: () => void): void => context.whenClosed(res, step);
        const trace = traceOf(req);
        await serveRequest(serving, {
          rid: requestId,
          route,
          body,
          trace,
          record,
          arrivedAt,
          res,
          whenClosed,
        });
        context.settle(COMPLETED);
      } catch (error) {
        end(error);
      } finally {
        if (record.unfinished.length === 0) release();
        else void Promise.all(record.unfinished).finally(release);
      }
    }

    /** Everything is answered here but what `onError: 'next'` hands on before an answer began. */
    function end(error: unknown): void {
      if (error instanceof ClientGoneError) return;
      const known = toNarwhalError(error);
      logFault(logger, known, context);
      try {
        refuse(context, res, next, known, onError);
      } catch {
        // An `end` of the host that throws for an error, too: a rejection of nobody's would end the process.
        res.destroy();
      }
      // What broke here or in the host, in mid-answer: nobody is going to end it.
      if (!isNarwhalError(error) && res.headersSent && !res.writableEnded) res.destroy();
    }
  };
}

const COMPLETED: Outcome = Object.freeze({ terminal: 'completed', reason: null, status: 200, error: null });

const TRACE_HEADERS = ['traceparent', 'tracestate'] as const;
const NO_TRACE: Readonly<Record<string, string>> = Object.freeze({});

/** The W3C trace context, the only headers of a client that go on. */
function traceOf({ headers }: IncomingMessage): Record<string, string> {
  if (headers['traceparent'] === undefined && headers['tracestate'] === undefined) return NO_TRACE;
  const trace: Record<string, string> = {};
  for (const name of TRACE_HEADERS) {
    const value = headers[name];
    if (typeof value === 'string' && /^[\x20-\x7e]{1,512}$/.test(value)) trace[name] = value;
  }
  return trace;
}

function logFault(logger: Logger | undefined, error: NarwhalError, context: RequestContext): void {
  if (logger === undefined || error.status < 500) return;
  const { reason, status, detail } = error;
  // Which engine, so that nobody has to look into the journal for it.
  const { iid = null, leg = null, attempt = null } = context.record.failures.at(-1) ?? {};
  const fields = { rid: context.requestId, reason, status, iid, leg, attempt, detail };
  if (reason === 'internal') {
    context.isLogged = true;
    logger.error('a request failed inside the gateway', { ...fields, stack: stackOf(error) });
  } else if (reason === 'engine_auth') logger.error('an engine did not accept the engine key', fields);
  else logger.warn('a request failed', fields);
}

/** Only the stack of our own errors: an axios error's text could hold a key. */
function stackOf({ cause }: NarwhalError): string | undefined {
  return cause instanceof Error ? cause.stack : undefined;
}
