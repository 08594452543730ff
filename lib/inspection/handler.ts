/** The inspection routes as one middleware. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { ConfigError, isNarwhalError } from '../errors';
import type { Authenticate } from '../middlewares/auth-strip';
import { unauthenticated } from '../middlewares/auth-strip';
import { enter, type NarwhalHandler, sendError, toNarwhalError } from '../middlewares/handler';
import { checkFunction, checkOptions } from '../options';
import type { InspectionOptions, InspectionPage } from './options';
import { healthAnswer, type Inspected, type InspectionAnswer, modelsAnswer, readyAnswer } from './routes';

/** What the routes are made of. */
export interface InspectionParts {
  /** Guards `/v1/models`; null where nobody is asked. */
  readonly identify: Authenticate | null;
  readonly options: InspectionOptions | false | undefined;
  readonly state: () => object;
}

const PAGES: readonly InspectionPage[] = ['state'];

/**
 * `GET /v1/models`, `/health`, `/ready` and the private `/narwhal/state`. Everything else passes.
 *
 * @throws {ConfigError} for bad options.
 */
export function inspectionHandler(inspected: Inspected, parts: InspectionParts): NarwhalHandler {
  const { identify, state } = parts;
  const isVisible = visibility(parts.options);
  return function inspect(req, res, next) {
    if (req.method !== 'GET' && req.method !== 'HEAD') {
      next();
      return;
    }
    const path = pathOf(req);
    if (path === '/health') send(req, res, healthAnswer(inspected));
    else if (path === '/ready') send(req, res, readyAnswer(inspected));
    else if (path === '/v1/models') {
      models(req, res).catch((error: unknown) => fail(req, res, error));
    } else if (path === '/narwhal/state' && isVisible('state', req)) {
      send(req, res, { status: 200, body: state() });
    } else next();
  };

  async function models(req: IncomingMessage, res: ServerResponse): Promise<void> {
    if (identify !== null && (await identify(req)) === null) throw unauthenticated();
    send(req, res, modelsAnswer(inspected));
  }
}

function pathOf({ url = '' }: IncomingMessage): string {
  const query = url.indexOf('?');
  const path = query === -1 ? url : url.slice(0, query);
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
}

function send(req: IncomingMessage, res: ServerResponse, { status, body }: InspectionAnswer): void {
  enter(req, res);
  const text = JSON.stringify(body);
  res.statusCode = status;
  res.setHeader('content-type', 'application/json');
  res.setHeader('content-length', Buffer.byteLength(text));
  res.setHeader('cache-control', 'no-store');
  res.end(req.method === 'HEAD' ? undefined : text);
}

function fail(req: IncomingMessage, res: ServerResponse, error: unknown): void {
  enter(req, res);
  sendError(res, isNarwhalError(error) ? error : toNarwhalError(error));
}

/** Who may see a private page. */
function visibility(
  options: InspectionOptions | false | undefined,
): (page: InspectionPage, req: IncomingMessage) => boolean {
  if (options === false) return () => false;
  const given = checkOptions<InspectionOptions>('inspection', options, ['public', 'guard']);
  const open = given.public ?? [];
  for (const page of open) {
    if (!PAGES.includes(page)) throw new ConfigError(`inspection: public may list ${PAGES.join(', ')}`);
  }
  const guard = given.guard === undefined ? isLocal : checkFunction('inspection: guard', given.guard);
  return (page, req) => open.includes(page) || guard(req) === true;
}

const FORWARDING = [
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-real-ip',
  'via',
];

/** A connection of this machine that no proxy has passed on. */
function isLocal({ socket, headers }: IncomingMessage): boolean {
  const address = socket.remoteAddress ?? '';
  const loopback = address === '::1' || address.startsWith('127.') || address.startsWith('::ffff:127.');
  return loopback && !FORWARDING.some((name) => headers[name] !== undefined);
}
