/** The inspection routes as one middleware. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from '../logger';
import { type Authenticate, unauthenticated } from '../middlewares/auth-strip';
import { enter, type NarwhalHandler, sendError, toNarwhalError } from '../middlewares/handler';
import { pathOf, withoutSlash } from '../request/route';
import { visibility } from './access';
import { engineAction } from './engine-actions';
import type { RouterMetrics } from './metrics';
import type { InspectionOptions } from './options';
import type { FleetPage } from './page/fleet-page';
import { healthAnswer, type Inspected, type InspectionAnswer, modelsAnswer, readyAnswer } from './routes';
import { sendText } from './send-text';

/** What the routes are made of. */
export interface InspectionParts {
  /** Guards `/v1/models`; null where nobody is asked. */
  readonly identify: Authenticate | null;
  readonly options: InspectionOptions | false | undefined;
  readonly state: () => object;
  /** Told of what failed inside, such as the host's own check of a key. */
  readonly logger: Logger;
  /** Null where there are none. */
  readonly metrics: Pick<RouterMetrics, 'text' | 'contentType'> | null;
  /** Null where it is not turned on. */
  readonly page: FleetPage | null;
}

/**
 * `GET /v1/models`, `/health`, `/ready`; private unless said otherwise, `/metrics`, and under `/narwhal`
 * `state`, `POST engines/:iid/drain` and `/readmit`, and the fleet page where it is on. Everything else passes.
 *
 * @throws {ConfigError} for bad options.
 */
export function inspectionHandler(inspected: Inspected, parts: InspectionParts): NarwhalHandler {
  const isVisible = visibility(parts.options);
  return function inspect(req, res, next) {
    let work: ReturnType<typeof answerFor>;
    try {
      if (showsPage(req, res)) return;
      work = answerFor(req);
    } catch (error) {
      // The host's guard threw: it has not said that the page may be seen.
      fail(req, res, error);
      return;
    }
    if (work === null) {
      next();
      return;
    }
    Promise.resolve(work)
      .then((answer) => send(req, res, answer))
      .catch((error: unknown) => fail(req, res, error));
  };

  /** @returns whether the request was for the page, which answers by itself. */
  function showsPage(req: IncomingMessage, res: ServerResponse): boolean {
    const { page } = parts;
    if (page === null || (req.method !== 'GET' && req.method !== 'HEAD')) return false;
    const path = withoutSlash(pathOf(req.url ?? ''));
    if (!page.owns(path) || !isVisible('page', req)) return false;
    page.serve(path, req, res);
    return true;
  }

  function fail(req: IncomingMessage, res: ServerResponse, error: unknown): void {
    const known = toNarwhalError(error);
    const { requestId } = enter(req, res);
    if (known.reason === 'internal') {
      const { detail, cause } = known;
      const stack = cause instanceof Error ? cause.stack : undefined;
      parts.logger.error('an inspection route failed', { rid: requestId, detail, stack });
    }
    sendError(res, known);
  }

  /** Null for what is not ours, or not to be seen: the host's 404 tells nothing. */
  function answerFor(req: IncomingMessage): InspectionAnswer | Promise<InspectionAnswer> | null {
    const path = withoutSlash(pathOf(req.url ?? ''));
    if (req.method === 'POST') {
      const action = engineAction(path);
      return action !== null && isVisible('engines', req) ? action(inspected.fleet, req) : null;
    }
    if (req.method !== 'GET' && req.method !== 'HEAD') return null;
    if (path === '/health') return healthAnswer(inspected);
    if (path === '/ready') return readyAnswer(inspected);
    if (path === '/v1/models') return models(req);
    if (path === '/narwhal/state' && isVisible('state', req)) return { status: 200, body: parts.state() };
    const { metrics } = parts;
    return metrics !== null && path === '/metrics' && isVisible('metrics', req) ? scrape(metrics) : null;
  }

  async function scrape(metrics: NonNullable<InspectionParts['metrics']>): Promise<InspectionAnswer> {
    return { status: 200, body: await metrics.text(), contentType: metrics.contentType };
  }

  async function models(req: IncomingMessage): Promise<InspectionAnswer> {
    const { identify } = parts;
    if (identify !== null && (await identify(req)) === null) throw unauthenticated();
    return modelsAnswer(inspected);
  }
}

function send(req: IncomingMessage, res: ServerResponse, answer: InspectionAnswer): void {
  if (res.destroyed) return;
  enter(req, res);
  const { status, body, contentType = 'application/json' } = answer;
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  res.setHeader('cache-control', 'no-store');
  sendText(req, res, { status, type: contentType, text });
}
