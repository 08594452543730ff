/** Who is it, and nothing of the proof goes on. */
import type { IncomingMessage } from 'node:http';
import { tenantName } from '../admission/tenants';
import type { Identity } from '../context';
import { ConfigError, NarwhalError } from '../errors';
import { checkFunction, checkOptions } from '../options';
import { type ApiKeys, keyRing } from './api-keys';
import { stripCredentials } from './client-credentials';
import { checkOnError, enter, type NarwhalHandler, type RefusalOptions, refuse } from './handler';

/**
 * Says who a request is from: `{ tenant, weight, ... }`; null is 401. May be async. What it throws is a 500.
 */
export type Authenticate = (
  req: IncomingMessage,
) => Readonly<Record<string, unknown>> | null | Promise<Readonly<Record<string, unknown>> | null>;

/** Options of `authStrip`. With neither, the host has authenticated: every request passes. */
export interface AuthStripOptions extends RefusalOptions {
  /** Keys that clients may present, or key to identity. Default: none. */
  readonly apiKeys?: ApiKeys | undefined;
  /** The host's own check; excludes `apiKeys`. Default: none. */
  readonly authenticate?: Authenticate | undefined;
}

const KEYS = ['apiKeys', 'authenticate', 'onError'] as const;

/**
 * Authenticates a request, installs its identity and removes every client credential and internal header
 * from `req.headers`.
 *
 * Refuses with 401 and `WWW-Authenticate: Bearer`.
 *
 * @example
 * ```ts
 * import express from 'express';
 * import { authStrip, narwhalContext } from 'express-narwhal';
 *
 * const app = express();
 * app.use(authStrip({ apiKeys: { 'key-of-acme': { tenant: 'acme' } } }), (req, res) => {
 *   res.json(narwhalContext(req)?.identity);
 * });
 * ```
 *
 * @throws {ConfigError} for bad options.
 */
export function authStrip(options?: AuthStripOptions): NarwhalHandler {
  const given = checkOptions('authStrip', options, KEYS);
  const onError = checkOnError('authStrip', given.onError);
  const identify = identifier(given);
  return function strip(req, res, next) {
    const context = enter(req, res);
    const pass = (identity: Readonly<Record<string, unknown>> | null): void => {
      stripCredentials(req);
      if (identity === null) {
        refuse(context, res, next, unauthenticated(), onError);
        return;
      }
      context.identity = toIdentity(identity);
      next();
    };
    const failed = (error: unknown): void => {
      stripCredentials(req);
      refuse(context, res, next, error, onError);
    };
    try {
      const identity = identify(req);
      if (identity instanceof Promise) identity.then(pass).catch(failed);
      else pass(identity);
    } catch (error) {
      failed(error);
    }
  };
}

/** Chooses how requests are told apart. */
export function identifier({ apiKeys, authenticate }: AuthStripOptions): Authenticate {
  if (authenticate !== undefined) {
    if (apiKeys !== undefined) throw new ConfigError('authStrip: give apiKeys or authenticate, not both');
    return closed(checkFunction('authStrip: authenticate', authenticate));
  }
  if (apiKeys === undefined) return () => NOBODY_ASKED;
  return keyRing(apiKeys);
}

/**
 * The host's check, made safe: what it answers lets nobody in by accident. `undefined` and `false` count
 * as null; anything that can be awaited is.
 *
 * @returns a check that throws, or rejects, for an answer that is no identity.
 */
function closed(authenticate: Authenticate): Authenticate {
  return (req) => {
    const answer: unknown = authenticate(req);
    return isThenable(answer) ? Promise.resolve(answer).then(checkIdentity) : checkIdentity(answer);
  };
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}

function checkIdentity(answer: unknown): Readonly<Record<string, unknown>> | null {
  if (answer === null || answer === undefined || answer === false) return null;
  if (typeof answer === 'object' && !Array.isArray(answer))
    return answer as Readonly<Record<string, unknown>>;
  throw new TypeError('authenticate must answer with an identity object or null');
}

/** The identity of a request that the host has let through by itself. */
const NOBODY_ASKED: Identity = Object.freeze({ tenant: null });

function toIdentity(identity: Readonly<Record<string, unknown>>): Identity {
  const { tenant } = identity;
  // Identities of keys are frozen once, where the keys are read.
  if (Object.isFrozen(identity) && (tenant === null || typeof tenant === 'string'))
    return identity as Identity;
  return Object.freeze({ ...identity, tenant: tenantName(identity) });
}

/** The 401 of every route that keys guard. */
export function unauthenticated(): NarwhalError {
  return new NarwhalError('unauthenticated', 'a valid API key is needed: Authorization: Bearer <key>', {
    headers: { 'www-authenticate': 'Bearer' },
  });
}
