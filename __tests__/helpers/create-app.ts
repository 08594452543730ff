/** Host apps on real ports, and a whole gateway: stub fleet, router, journal and app. */
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express5, { type ErrorRequestHandler, type Express, type RequestHandler } from 'express';
import {
  type JournalRow,
  type NarwhalRouter,
  type NarwhalRouterOptions,
  narwhalRouter,
} from '../../lib/index';
import { type StubFleet, type StubFleetOptions, startStubFleet } from '../../lib/testing/index';
import { type CapturedJournal, captureJournal } from './capture-journal';
import { type CapturedLogger, captureLogger } from './capture-logger';
import { closeLater } from './close-all';

/** Express 5 as hosts import it; Express 4 under its alias, with the same types. */
export type ExpressModule = typeof express5;
export const express4: ExpressModule = jest.requireActual<ExpressModule>('express4');

/** Both versions, for `describe.each`. */
export const EXPRESS_VERSIONS: readonly (readonly [string, ExpressModule])[] = [
  ['4', express4],
  ['5', express5],
];

/** An app on a port. */
export interface ListeningApp {
  readonly server: Server;
  /** Without a slash at the end. */
  readonly url: string;
}

/** Puts an app on a free port of loopback; it is closed after the test, with every connection. */
export async function listen(app: Express): Promise<ListeningApp> {
  const server = await new Promise<Server>((resolve) => {
    const started: Server = app.listen(0, '127.0.0.1', () => resolve(started));
  });
  closeLater({
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  });
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

/** What a gateway is made of; everything may be left out. */
export interface GatewayOptions {
  /** The stub engines. */
  readonly stub?: StubFleetOptions;
  /** Put over the fleet file of the stub engines. */
  readonly fleetFile?: object;
  /** Put over the router's options. */
  readonly router?: NarwhalRouterOptions;
  /** Express of the host. Default: 5. */
  readonly express?: ExpressModule;
  /** Mounted before the router. */
  readonly before?: readonly RequestHandler[];
  /** Mounted behind it. */
  readonly after?: readonly (RequestHandler | ErrorRequestHandler)[];
  /** Default: the root. */
  readonly mountPath?: string;
  /** Breaches of the wire are the test's subject: it asks for them by itself. */
  readonly breachesExpected?: boolean;
}

/** A running gateway. Closed after the test: server, router, engines; breaches of the wire fail the test. */
export interface Gateway extends ListeningApp {
  readonly fleet: StubFleet;
  readonly router: NarwhalRouter;
  readonly journal: CapturedJournal;
  readonly logger: CapturedLogger;
  /** Closes the router and returns all rows: no more can come. */
  allRows(): Promise<readonly JournalRow[]>;
}

/** Starts a gateway in front of stub engines. */
export async function startGateway(options: GatewayOptions = {}): Promise<Gateway> {
  const fleet = closeLater(await startStubFleet(options.stub));
  if (options.breachesExpected !== true) closeLater({ close: () => fleet.assertNoBreaches() });
  const journal = captureJournal();
  const logger = captureLogger();
  const router = closeLater(
    narwhalRouter({ fleet: fleet.fleetFile(options.fleetFile), journal, logger, ...options.router }),
  );
  const app = (options.express ?? express5)();
  for (const handler of options.before ?? []) app.use(handler);
  app.use(options.mountPath ?? '/', router);
  for (const handler of options.after ?? []) app.use(handler as RequestHandler);
  const { server, url } = await listen(app);
  return {
    server,
    url,
    fleet,
    router,
    journal,
    logger,
    async allRows() {
      await router.close();
      return journal.rows;
    },
  };
}
