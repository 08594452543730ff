/** A tenant's requests and tokens per minute: taken at the start, set right at the end. */
import type { Logger } from '../logger';
import { type Draw, type DrawAnswer, type LimitStore, limitHeaders, waitS } from './limits';
import type { Tenant } from './tenants';

/** A store that has not answered by then is left out, ms: it must not hold requests up. */
const STORE_MS = 500;
/** Least time between two warnings about a store that fails, ms. */
const WARN_MS = 60_000;

/** What came of a draw. */
export interface LimitVerdict {
  /** Seconds until the draw is possible; null where it was made. */
  readonly waitS: number | null;
  /** A store has counted it. */
  readonly isCounted: boolean;
  /** For the response. */
  readonly headers: Readonly<Record<string, string>>;
}

const FREE: LimitVerdict = Object.freeze({ waitS: null, isCounted: false, headers: Object.freeze({}) });

/** Takes from a store, and lets pass where it fails. */
export class Limiter {
  readonly #store: LimitStore;
  readonly #logger: Logger | null;
  #warnedAt = Number.NEGATIVE_INFINITY;
  /** Draws that the store did not answer. */
  failures = 0;

  constructor(store: LimitStore, logger: Logger | null) {
    this.#store = store;
    this.#logger = logger;
  }

  /**
   * Takes one request and so many tokens. A cost of zero only looks.
   *
   * @returns at once where the store answers at once. Never rejects.
   */
  take(tenant: Tenant, requests: number, tokens: number): LimitVerdict | Promise<LimitVerdict> {
    const draws = drawsOf(tenant, requests, tokens);
    if (draws.length === 0) return FREE;
    const answer = this.#ask(tenant, draws, false);
    return answer instanceof Promise
      ? answer.then((late) => verdictOf(draws, late))
      : verdictOf(draws, answer);
  }

  /** Takes tokens that were used beyond those taken, or gives back what was not. */
  settle(tenant: Tenant, tokens: number): void {
    if (tenant.tokensPerMinute === null || tokens === 0) return;
    void this.#ask(tenant, [{ name: 'tokens', perMinute: tenant.tokensPerMinute, cost: tokens }], true);
  }

  #ask(tenant: Tenant, draws: Draw[], force: boolean): DrawAnswer | null | Promise<DrawAnswer | null> {
    try {
      const answer = this.#store.take(tenant.name, draws, force);
      // A host's store may answer with a promise of another kind.
      if (!('then' in answer)) return answer;
      return within(Promise.resolve(answer), STORE_MS).catch((error: unknown) => this.#failed(error));
    } catch (error) {
      return this.#failed(error);
    }
  }

  #failed(error: unknown): null {
    this.failures++;
    const now = performance.now();
    if (now - this.#warnedAt > WARN_MS) {
      this.#warnedAt = now;
      const detail = error instanceof Error ? error.message : 'unknown';
      this.#logger?.warn('the store of tenant limits does not answer; limits per minute are off meanwhile', {
        detail,
      });
    }
    return null;
  }
}

function drawsOf({ requestsPerMinute, tokensPerMinute }: Tenant, requests: number, tokens: number): Draw[] {
  const draws: Draw[] = [];
  if (requestsPerMinute !== null)
    draws.push({ name: 'requests', perMinute: requestsPerMinute, cost: requests });
  if (tokensPerMinute !== null) draws.push({ name: 'tokens', perMinute: tokensPerMinute, cost: tokens });
  return draws;
}

function verdictOf(draws: readonly Draw[], answer: DrawAnswer | null): LimitVerdict {
  if (answer === null) return FREE;
  const { allowed, levels } = answer;
  return {
    waitS: allowed ? null : waitS(draws, levels),
    isCounted: allowed,
    headers: limitHeaders(draws, levels),
  };
}

function within<T>(promise: Promise<T>, ms: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`no answer within ${ms} ms`)), ms);
    timer.unref();
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
