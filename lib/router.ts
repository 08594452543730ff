/** The whole pipeline as one Express router: builds the parts once, mounts the chain, owns their end. */
import { Router } from 'express';
import type { Admission } from './admission/admission';
import { completionRoutes } from './completion-routes';
import { defaultFleetPath } from './config/fleet-file';
import { createFleet, Fleet, loadFleet } from './engines/fleet';
import { ConfigError } from './errors';
import { faultLog } from './inspection/fault-log';
import { inspectionHandler } from './inspection/handler';
import { sightOf } from './inspection/sight';
import { fleetState, type RouterState } from './inspection/state';
import { closedInTime } from './journal/closed-in-time';
import { createJournal } from './journal/journal';
import { checkLogger, defaultLogger, type Logger } from './logger';
import { doorOf, gateOf } from './middlewares/admission-gate';
import { admissionOf } from './middlewares/admission-options';
import { authStrip, identifier } from './middlewares/auth-strip';
import { checkDispatchOptions, dispatchTo } from './middlewares/dispatch-engine';
import { checkOnError, type NarwhalHandler } from './middlewares/handler';
import { recordTo } from './middlewares/journal-record';
import { modelGuard } from './middlewares/model-guard';
import { outputGuard } from './middlewares/output-guard';
import { requireInput } from './middlewares/require-input';
import { samplingGuard } from './middlewares/sampling-guard';
import { validateCompletion } from './middlewares/validate-completion';
import { checkNumber, checkOptions } from './options';
import { keepRawBody } from './request/read-body';
import { checkMiddlewareOptions, type NarwhalRouterOptions, ROUTER_KEYS } from './router-options';
import { createServing } from './serving/serve-request';
import { Shutdown } from './serving/shutdown';

/** The router: mount it with `app.use()`, under any path. */
export interface NarwhalRouter extends NarwhalHandler {
  /**
   * Takes no new work, lets running requests go on for `closeTimeoutS`, then flushes the journal and
   * closes every engine connection. A second call returns the same promise.
   */
  close(): Promise<void>;
  /** What the router, its engines and its journal are doing now. */
  state(): RouterState;
}

/** Default journal file, in the working directory. */
const DEFAULT_JOURNAL = './narwhal-journal.jsonl';

const DEFAULT_CLOSE_TIMEOUT_S = 30;
/** A day: what a timer can hold ends not much later. */
const MAX_CLOSE_TIMEOUT_S = 86_400;

/**
 * Builds the pipeline: `POST /v1/completions`, `POST /v1/chat/completions`, `GET /v1/models`, `/health`,
 * `/ready` and the private `/metrics` and `/narwhal/state`. Every other path goes to the host.
 *
 * `narwhalRouter.rawBody` is a `verify` hook for the host's `express.json()`: it keeps the client's bytes.
 *
 * @example
 * ```ts
 * import express from 'express';
 * import { narwhalRouter } from 'express-narwhal';
 *
 * const narwhal = narwhalRouter({ fleet: './fleet.json', apiKeys: [process.env['GATEWAY_KEY']] });
 * const server = express().use('/llm', narwhal).listen(8080);
 * process.once('SIGTERM', async () => {
 *   server.close();
 *   await narwhal.close();
 * });
 * ```
 *
 * @throws {ConfigError} for a bad fleet or option, naming every problem.
 */
export function narwhalRouter(options?: NarwhalRouterOptions): NarwhalRouter {
  const given = checkOptions<NarwhalRouterOptions>('narwhalRouter', options, ROUTER_KEYS);
  checkMiddlewareOptions(given);
  const parts = buildParts(given);
  if (options !== undefined && 'apiKeys' in options && given.apiKeys === undefined && !given.authenticate) {
    parts.logger.warn('apiKeys is undefined: every request is let through; is its environment variable set?');
  }
  const completions = completionRoutes(parts);
  const { inspection } = parts;
  const router = Router() as unknown as NarwhalHandler & { use(handler: NarwhalHandler): void };
  // One layer for both, the busy routes first: each layer of a router costs every request that passes it.
  router.use((req, res, next) => {
    completions(req, res, (error) => (error === undefined ? inspection(req, res, next) : next(error)));
  });
  return Object.assign(router, {
    close: parts.close,
    state: parts.state,
  });
}

/** A `verify` hook for the host's `express.json()`: keeps the bytes, so that pass-through stays exact. */
narwhalRouter.rawBody = keepRawBody;

function buildParts(given: Partial<NarwhalRouterOptions>) {
  const logger =
    given.logger === undefined ? defaultLogger() : checkLogger('narwhalRouter: logger', given.logger);
  const { closeTimeoutS = DEFAULT_CLOSE_TIMEOUT_S } = given;
  checkNumber('narwhalRouter: closeTimeoutS', closeTimeoutS, { min: 0, max: MAX_CLOSE_TIMEOUT_S });
  const auth = authOptions(given);
  const opened = openFleet(given, logger);
  try {
    return assemble(given, { ...opened, logger, closeTimeoutS, auth });
  } catch (error) {
    // Its engines are watched from the start: with a bad option nobody would end that.
    if (opened.isOurs) void opened.fleet.close();
    throw error;
  }
}

/** What the parts are made of, beside the options. */
interface Basis {
  readonly fleet: Fleet;
  readonly isOurs: boolean;
  readonly logger: Logger;
  readonly closeTimeoutS: number;
  readonly auth: ReturnType<typeof authOptions>;
}

function assemble(given: Partial<NarwhalRouterOptions>, basis: Basis) {
  const { fleet, isOurs, logger, closeTimeoutS, auth } = basis;
  const admission = admissionOf(given.admissionGate || undefined, { fleet, logger });
  const serving = createServing(fleet);
  const chain = buildChain(given, auth, fleet, admission);
  if (given.dispatchEngine !== false) {
    chain.push(dispatchTo(serving, logger, checkDispatchOptions(given.dispatchEngine)));
  }
  const state = (): RouterState => fleetState(fleet, serving, admission.seats, journal, shutdown);
  const sight = sightOf(given, { fleet, logger, state, seats: admission.seats.limits });
  const inspected = {
    fleet,
    startedAt: Math.floor(Date.now() / 1000),
    isClosing: () => shutdown.isClosing,
  };
  const inspection = inspectionHandler(inspected, {
    identify: auth === false ? null : identifier(auth),
    options: given.inspection,
    state,
    metrics: sight.metrics,
    page: sight.page,
    logger,
  });
  // Opened last: nothing is left open when an option is bad.
  const journal = createJournal(given.journal === undefined ? DEFAULT_JOURNAL : given.journal, logger);
  const shutdown = new Shutdown({
    active: serving.active,
    timeoutS: closeTimeoutS,
    abandon: () => serving.reclaimer.stop(),
    async release() {
      await admission.close();
      await closedInTime(journal, logger);
      sight.metrics?.close();
      if (isOurs) await fleet.close();
    },
  });
  sight.metrics?.register();
  const observers = [...sight.observers, faultLog(logger)];
  const requestTimeoutMs = fleet.config.serving.requestTimeoutS * 1000;
  return {
    state,
    shutdown,
    close: sight.endBefore(() => shutdown.close()),
    chain,
    inspection,
    logger,
    requestTimeoutMs,
    record: recordTo(journal, observers),
  };
}

function authOptions(given: Partial<NarwhalRouterOptions>) {
  const { apiKeys, authenticate, authStrip: own } = given;
  if (own === false) {
    if (apiKeys === undefined && authenticate === undefined) return false;
    throw new ConfigError('narwhalRouter: authStrip: false leaves apiKeys and authenticate without effect');
  }
  for (const name of ['apiKeys', 'authenticate'] as const) {
    if (given[name] === undefined || own?.[name] === undefined) continue;
    throw new ConfigError(`narwhalRouter: ${name} is given twice, beside authStrip and in it: leave one out`);
  }
  return {
    ...(apiKeys === undefined ? {} : { apiKeys }),
    ...(authenticate === undefined ? {} : { authenticate }),
    ...own,
  };
}

function openFleet({ fleet, client }: Partial<NarwhalRouterOptions>, logger: Logger) {
  if (fleet instanceof Fleet) return { fleet, isOurs: false };
  const options = client === undefined ? { logger } : { client, logger };
  const own =
    typeof fleet === 'object'
      ? createFleet(fleet, options)
      : loadFleet(fleet ?? defaultFleetPath(process.env), options);
  const { ignored } = own.config;
  if (ignored.length > 0)
    logger.warn('the fleet file has parts that this package does not act on', { ignored });
  const { queueCapacity, queueTimeoutS } = own.config.serving;
  if (queueCapacity > 0 && queueTimeoutS <= 0)
    logger.warn('serving.queue_capacity has no effect without serving.queue_timeout_s: nobody waits');
  return { fleet: own, isOurs: true };
}

/** The middlewares between the journal and dispatch, in the order of the request contract. */
function buildChain(
  given: Partial<NarwhalRouterOptions>,
  auth: ReturnType<typeof authOptions>,
  fleet: Fleet,
  admission: Admission,
): NarwhalHandler[] {
  const { model, serving } = fleet.config;
  const maxBytes = serving.maxRequestBytes;
  const chain: NarwhalHandler[] = [];
  if (auth !== false) chain.push(authStrip(auth));
  const { admissionGate: gate } = given;
  const gateOnError = checkOnError('admissionGate', gate === false ? undefined : gate?.onError);
  if (gate !== false) chain.push(doorOf(admission, gateOnError));
  if (given.validateCompletion !== false) {
    // A missing prompt is asked for last, by dispatch: after the guards.
    chain.push(validateCompletion({ maxBytes, requireInput: false, ...given.validateCompletion }));
  }
  if (given.outputGuard !== false) chain.push(outputGuard({ maxBytes, ...given.outputGuard }));
  if (given.modelGuard !== false) chain.push(modelGuard({ models: [model], maxBytes, ...given.modelGuard }));
  if (given.samplingGuard !== false) chain.push(samplingGuard({ maxBytes, ...given.samplingGuard }));
  const { onError } = given.validateCompletion || {};
  chain.push(requireInput({ maxBytes, onError }));
  if (gate !== false) chain.push(gateOf(admission, gateOnError));
  return chain;
}
