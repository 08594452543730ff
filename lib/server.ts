/**
 * An HTTP server whose requests and responses are born with Express's prototypes.
 *
 * Express sets the prototype of `req` and `res` anew for each request, and V8 makes every later access to
 * such an object slow: about a third of the CPU of a small request. When the prototype is right from the
 * start, setting it changes nothing. `npm run bench -- server` shows the difference.
 */
import {
  createServer as createHttpServer,
  IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
  ServerResponse,
} from 'node:http';
import { ConfigError } from './errors';

/** What is needed of an Express application, version 4 or 5. */
export interface ExpressApp {
  /** Prototype of its requests. */
  readonly request: object;
  /** Prototype of its responses. */
  readonly response: object;
}

/**
 * Creates a server for an Express app: `createServer(app).listen(8080)` in place of `app.listen(8080)`.
 * Everything works as before; sub-apps that the host mounts keep their own prototypes.
 *
 * @example
 * ```ts
 * import express from 'express';
 * import { createServer, narwhalRouter } from 'express-narwhal';
 *
 * const app = express();
 * app.use(narwhalRouter());
 * createServer(app).listen(8080);
 * ```
 *
 * @param app an Express application, version 4 or 5.
 * @param options as of `http.createServer`.
 * @throws {ConfigError} for anything that is no Express application.
 */
export function createServer(app: ExpressApp, options: ServerOptions = {}): Server {
  const { request, response } = (app as ExpressApp | null | undefined) ?? {};
  if (typeof app !== 'function' || typeof request !== 'object' || typeof response !== 'object') {
    throw new ConfigError('createServer: app must be an Express application: createServer(express())');
  }
  return createHttpServer(
    {
      ...options,
      IncomingMessage: bornWith(IncomingMessage, request),
      ServerResponse: bornWith(ServerResponse, response),
    } as ServerOptions,
    app as RequestListener,
  );
}

/** A constructor like `Base` whose objects have this prototype. */
function bornWith(Base: unknown, prototype: object): unknown {
  // Node's two classes are plain functions, which may be called on an object that is already there.
  const construct = Base as (this: unknown, ...parts: unknown[]) => void;
  function Born(this: unknown, first: unknown, second: unknown): void {
    construct.call(this, first, second);
  }
  Born.prototype = prototype;
  // V8 reserves room in an object for the properties that its constructor, and those above it, will set.
  // Without that link every request would grow its objects a few properties at a time.
  Object.setPrototypeOf(Born, Base as object);
  return Born;
}
