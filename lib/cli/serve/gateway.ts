/** A gateway on its own: router, server, journal, a second port for metrics, and their end. */
import type { IncomingMessage, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express, { type Express } from 'express';
import { createJournal, createServer, narwhalErrorHandler, narwhalRouter } from '../../index';
import { isLocal } from '../../inspection/access';
import { defaultLogger } from '../../logger';
import { type KeySource, readKeys } from './keys';
import { LiveRouter } from './live-router';

/** What `narwhal serve` is told. */
export interface GatewaySettings {
  readonly fleetPath: string;
  readonly keys: KeySource | null;
  /** Null for no journal. */
  readonly journalPath: string | null;
  readonly port: number;
  /** Null for every interface. */
  readonly host: string | null;
  /** Null for no second port. */
  readonly metricsPort: number | null;
  /** Whether there is a fleet page. */
  readonly page: boolean;
  /** Seconds that running requests may take at the end. */
  readonly drainS: number;
  readonly env: NodeJS.ProcessEnv;
  /** Told of what goes wrong outside of any request. */
  readonly onError: (error: unknown) => void;
}

/** A running gateway. */
export interface Gateway {
  readonly url: string;
  readonly metricsUrl: string | null;
  readonly live: LiveRouter;
  /** Ends in order: `/ready` turns 503, running requests finish, then the ports close. */
  close(): Promise<void>;
}

/** Longer than the idle time of the usual load balancers, which must be the first to close. */
const KEEP_ALIVE_MS = 75_000;

const METRICS_PAGES = ['/metrics', '/health', '/ready', '/narwhal/state'];

/** Express takes the first one with and without a slash at its end. */
const FLEET_PAGES = ['/narwhal', '/narwhal/events'];

/**
 * Starts a gateway.
 *
 * @throws for a bad fleet or key file, a journal that cannot be, a port that cannot be had.
 */
export async function startGateway(settings: GatewaySettings): Promise<Gateway> {
  const admitted = new WeakSet<IncomingMessage>();
  const { live, closeRouters } = openRouters(settings, admitted);
  const servers: Server[] = [];
  const open = async (app: Express, port: number): Promise<string> => {
    const server = createServer(app, { keepAliveTimeout: KEEP_ALIVE_MS });
    servers.push(server);
    return listen(server, port, settings.host);
  };
  try {
    const url = await open(mainApp(live), settings.port);
    const { metricsPort } = settings;
    const metricsUrl =
      metricsPort === null ? null : await open(metricsApp(live, admitted, settings.page), metricsPort);
    return {
      url,
      metricsUrl,
      live,
      async close() {
        // The ports stay open until nothing runs: whoever asks /ready must hear that it is over.
        await closeRouters();
        closeServers(servers);
      },
    };
  } catch (error) {
    closeServers(servers);
    await closeRouters();
    throw error;
  }
}

function openRouters(settings: GatewaySettings, admitted: WeakSet<IncomingMessage>) {
  const { fleetPath, keys, journalPath, drainS, page, env, onError } = settings;
  const logger = defaultLogger();
  // One journal for every router that comes after another: two writers would rotate under each other.
  const journal = createJournal(journalPath ?? false, logger);
  const sink = {
    write: (row: Parameters<typeof journal.write>[0]) => journal.write(row),
    close: () => undefined,
    get lost() {
      return journal.lost;
    },
  };
  const live = new LiveRouter(() => {
    return narwhalRouter({
      fleet: fleetPath,
      ...(keys === null ? {} : { apiKeys: readKeys(keys, env) }),
      journal: sink,
      logger,
      closeTimeoutS: drainS,
      inspection: { guard: (req) => admitted.has(req) || isLocal(req), page },
    });
  }, onError);
  const closeRouters = async (): Promise<void> => {
    await live.close();
    await journal.close();
  };
  return { live, closeRouters };
}

function mainApp(live: LiveRouter): Express {
  const app = express().disable('x-powered-by');
  app.use(live.handler);
  return finish(
    app,
    'there is nothing here; completions are at POST /v1/chat/completions and /v1/completions',
  );
}

/** Only what a scraper asks: no completions, and nothing that changes anything. */
function metricsApp(live: LiveRouter, admitted: WeakSet<IncomingMessage>, page: boolean): Express {
  const app = express().disable('x-powered-by');
  const pages = page ? [...METRICS_PAGES, ...FLEET_PAGES] : METRICS_PAGES;
  app.get(pages, (req, res, next) => {
    admitted.add(req);
    live.handler(req, res, next);
  });
  return finish(app, `this port has ${pages.join(', ')}`);
}

function finish(app: Express, message: string): Express {
  app.use((_req, res) => {
    res.status(404).json({
      error: { message, type: 'invalid_request_error', param: null, code: 'not_found' },
    });
  });
  app.use(narwhalErrorHandler());
  return app;
}

function listen(server: Server, port: number, host: string | null): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(new Error(portProblem(error, port, host))));
    server.listen({ port, ...(host === null ? {} : { host }) }, () => {
      const { address, family, port: taken } = server.address() as AddressInfo;
      resolve(`http://${family === 'IPv6' ? `[${address}]` : address}:${taken}`);
    });
  });
}

function portProblem({ code, message }: NodeJS.ErrnoException, port: number, host: string | null): string {
  if (code === 'EADDRINUSE')
    return `port ${port} is in use; choose another one with --port or --metrics-port`;
  if (code === 'EACCES') return `port ${port} may not be taken by this user; choose one above 1023`;
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') {
    return `--host ${host} is no address of this machine`;
  }
  return message;
}

function closeServers(servers: readonly Server[]): void {
  for (const server of servers) {
    server.close();
    server.closeAllConnections();
  }
}
