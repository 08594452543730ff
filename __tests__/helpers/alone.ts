/** One middleware in a host app without a fleet, under supertest. */
import express5, { type ErrorRequestHandler, type Express, type RequestHandler } from 'express';
import type { Response } from 'supertest';
import type { NarwhalErrorHandler, NarwhalHandler } from '../../lib/index';
import type { Envelope } from './call';
import type { ExpressModule } from './create-app';

/** Anything that `app.use()` takes. */
export type Mountable = NarwhalHandler | NarwhalErrorHandler | RequestHandler | ErrorRequestHandler;

/** Answers 200 with what the middlewares before it left in `req.body`. */
export const echoBody: RequestHandler = (req, res) => {
  res.json({ seen: req.body as unknown });
};

/** An app of these handlers, at every path, with `echoBody` at their end. */
export function appOf(handlers: readonly Mountable[], express: ExpressModule = express5): Express {
  const app = express();
  // Express's own final handler must not write to the test's output.
  app.set('env', 'test');
  for (const handler of handlers) app.use(handler as RequestHandler);
  app.use(echoBody);
  return app;
}

/** The envelope of a refusal; fails where status or reason differ, or the form is not exact. */
export function refusalOf(response: Response, status: number, reason: string): Envelope {
  expect(response.status).toBe(status);
  expect(response.headers).toMatchObject({
    'content-type': 'application/json',
    'x-request-id': expect.stringMatching(/^[\w-]{10,}$/) as string,
    'x-narwhal-reason': reason,
  });
  const { error, ...others } = response.body as { error: Envelope };
  expect(others).toEqual({});
  expect(Object.keys(error).sort()).toEqual(['code', 'message', 'param', 'type']);
  return error;
}

/** What a factory throws; null where it throws nothing. */
export function thrownBy(act: () => unknown): Error | null {
  try {
    act();
  } catch (error) {
    return error as Error;
  }
  return null;
}

/** An error handler that keeps what it was given, then answers 418. */
export function keepErrors(): { readonly errors: unknown[]; readonly handler: ErrorRequestHandler } {
  const errors: unknown[] = [];
  return {
    errors,
    handler: (error: unknown, _req, res, _next) => {
      errors.push(error);
      res.status(418).end();
    },
  };
}
