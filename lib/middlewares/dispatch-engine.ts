/** Hands an admitted request to the fleet. */
import type { IncomingMessage } from 'node:http';
import type { RequestContext } from '../context';
import { Fleet } from '../engines/fleet';
import { ClientGoneError, ConfigError, type NarwhalError } from '../errors';
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
    const release = context.hold();
    const work = async (): Promise<void> => {
      const body = context.body ?? (await bodyOf(req, context, maxRequestBytes));
      const route = guessRoute(context.route, body);
      const refusal = checkReserved(body.value) ?? checkRequired(body.value, route);
      if (refusal !== null) throw refusal;
      await serveRequest(serving, {
        rid: context.requestId,
        route,
        body,
        trace: traceOf(req),
        record: context.record,
        arrivedAt: context.arrivedAt,
        res,
      });
      context.settle({ terminal: 'completed', reason: null, status: 200, error: null });
    };
    work()
      .catch((error: unknown) => end(context, error))
      .finally(() => void Promise.all(context.record.unfinished).finally(release));

    /** Everything is answered here but what `onError: 'next'` hands on before an answer began. */
    function end(failed: RequestContext, error: unknown): void {
      if (error instanceof ClientGoneError) return;
      const known = toNarwhalError(error);
      logFault(logger, known, failed);
      refuse(failed, res, next, known, onError);
    }
  };
}

const TRACE_HEADERS = ['traceparent', 'tracestate'] as const;

/** The W3C trace context, the only headers of a client that go on. */
function traceOf({ headers }: IncomingMessage): Record<string, string> {
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
  const fields = { rid: context.requestId, reason, status, detail };
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
