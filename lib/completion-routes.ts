/** The two completion routes: each request through the chain of middlewares, with a row, a limit and an end. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { openContext } from './context';
import { NarwhalError } from './errors';
import { type NarwhalHandler, refuse } from './middlewares/handler';
import { pathOf, routeOf } from './request/route';
import { requestExpired } from './serving/leg';
import type { Phase } from './serving/record';
import { type Shutdown, shuttingDown } from './serving/shutdown';

/** What the routes are made of. */
export interface CompletionParts {
  /** Middlewares in the order of the request contract. */
  readonly chain: readonly NarwhalHandler[];
  /** `journalRecord`, around them all. */
  readonly record: NarwhalHandler;
  readonly shutdown: Shutdown;
  /** `serving.request_timeout_s`, in milliseconds. */
  readonly requestTimeoutMs: number;
}

/** Where a request may stand before a seat and an engine are its own. */
const BEFORE_SERVING: ReadonlySet<Phase> = new Set(['upload', 'queue']);

/** Serves the two completion routes; everything else, and `OPTIONS`, goes to the host. */
export function completionRoutes(parts: CompletionParts): NarwhalHandler {
  const { chain, record, shutdown, requestTimeoutMs } = parts;
  return function completions(req, res, next) {
    // Below the mount point: Express has taken the mount path off `url`.
    if (req.method === 'OPTIONS' || routeOf(pathOf(req.url ?? '')) === null) {
      next();
      return;
    }
    record(req, res, () => {
      const context = openContext(req);
      const end = (error: NarwhalError): void => {
        res.setHeader('connection', 'close');
        refuse(context, res, next, error, 'answer');
      };
      const leave = shutdown.enter(res, end);
      // Serving has timers of its own; this one is for what comes before: the host's check, the upload.
      const timer = setTimeout(() => {
        if (!res.headersSent && BEFORE_SERVING.has(context.record.phase)) end(requestExpired());
      }, requestTimeoutMs);
      timer.unref();
      context.whenClosed(res, () => {
        clearTimeout(timer);
        context.whenIdle(leave);
      });
      const refusal = refusalAtTheDoor(req, res, shutdown);
      if (refusal === null) runChain(chain, req, res, next);
      else refuse(context, res, next, refusal, 'answer');
    });
  };
}

function refusalAtTheDoor(
  req: IncomingMessage,
  res: ServerResponse,
  shutdown: Shutdown,
): NarwhalError | null {
  if (req.method !== 'POST') {
    return new NarwhalError('wrongMethod', 'only POST is allowed here', { headers: { allow: 'POST' } });
  }
  if (!shutdown.isClosing) return null;
  res.setHeader('connection', 'close');
  return shuttingDown();
}

/** Runs the middlewares one after another; a throw in any of them is a 500 in the envelope. */
function runChain(
  chain: readonly NarwhalHandler[],
  req: IncomingMessage,
  res: ServerResponse,
  done: (error?: unknown) => void,
): void {
  let at = 0;
  const next = (error?: unknown): void => {
    const handler = chain[at++];
    if (error !== undefined || handler === undefined) {
      done(error);
      return;
    }
    try {
      handler(req, res, next);
    } catch (thrown) {
      refuse(openContext(req), res, done, thrown, 'answer');
    }
  };
  next();
}
