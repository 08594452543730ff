/** May one more request be in flight. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Admission, Visit } from '../admission/admission';
import type { LimitVerdict } from '../admission/limiter';
import { houseFull, overOwnLimit, tooExpensive, waitedTooLong } from '../admission/refusals';
import type { SeatAnswer } from '../admission/seats';
import type { RequestContext } from '../context';
import { ClientGoneError } from '../errors';
import { drain } from '../request/drain';
import { splitPlan } from '../request/indivisible';
import { guessRoute } from '../request/route';
import { CHARS_PER_TOKEN, inputLength, promptLength } from '../serving/prompt-length';
import type { ServingRecord } from '../serving/record';
import { wantedLength } from '../serving/serve-request';
import { type AdmissionGateOptions, admissionOf } from './admission-options';
import { checkOnError, enter, type NarwhalHandler, type OnError, refuse } from './handler';

/**
 * Takes a seat for the request and gives it back when the response is over, however it ended.
 *
 * Refuses with 429 when seats and queue are full, when the process is behind, when a tenant is over its own
 * limits, or when the first token would come too late (with a fleet whose file says so); with 504 when the
 * wait for a seat ran out.
 *
 * @example
 * ```ts
 * import express from 'express';
 * import { admissionGate } from 'express-narwhal';
 *
 * const app = express();
 * app.use(admissionGate({ maxConnections: 64, queueCapacity: 100, queueTimeoutS: 5 }));
 * ```
 *
 * @throws {ConfigError} for bad options.
 */
export function admissionGate(options?: AdmissionGateOptions): NarwhalHandler {
  const admission = admissionOf(options);
  return gateOf(admission, checkOnError('admissionGate', options?.onError));
}

/** The gate over an admission that the router shares with its door. */
export function gateOf(admission: Admission, onError: OnError): NarwhalHandler {
  return function admit(req, res, next) {
    const context = enter(req, res);
    context.record.phase = 'queue';
    try {
      if (passAtOnce(admission, req, res, context)) {
        next();
        return;
      }
    } catch (error) {
      refuse(context, res, next, error, onError);
      return;
    }
    pass(admission, req, res, context)
      .then(() => next())
      .catch((error: unknown) => refuse(context, res, next, error, onError));
  };
}

/**
 * The short way of most requests: no limits, no price, and a seat that is free. It makes no promise, which
 * saves a small request 5 us.
 *
 * @returns false, with nothing done, where something has to be asked or waited for.
 * @throws the refusal.
 */
function passAtOnce(
  admission: Admission,
  req: IncomingMessage,
  res: ServerResponse,
  context: RequestContext,
): boolean {
  const visit = visitOf(admission, req, res, context);
  const { tenant, limits } = visit;
  if (limits instanceof Promise || isMeasured(admission, visit)) return false;
  const since = performance.now();
  context.record.queueWaitMs = 0;
  const refusal = admission.refusal(visit, limitsOf(visit, res) as LimitVerdict | null);
  if (refusal !== null) throw refusal;
  checkPresence(res);
  const seat = admission.seats.takeFree(tenant ?? undefined);
  if (seat === null) return false;
  context.whenClosed(res, seat);
  visit.pricedAt = since;
  return true;
}

/**
 * Counts a request before its body is read, and refuses what would be too much to read. Stands in front of
 * whatever reads bodies; the gate decides.
 */
export function doorOf(admission: Admission, onError: OnError): NarwhalHandler {
  return function door(req, res, next) {
    const context = enter(req, res);
    const decide = (visit: Visit, limits: LimitVerdict | null): void => {
      const refusal = admission.refusal(visit, limits);
      if (refusal === null || admission.door.mayRead(req)) {
        next();
        return;
      }
      refuse(context, res, next, refusal, onError);
      drain(req);
    };
    try {
      const visit = visitOf(admission, req, res, context);
      const limits = limitsOf(visit, res);
      if (limits instanceof Promise) {
        limits
          .then((late) => decide(visit, late))
          .catch((error: unknown) => refuse(context, res, next, error, onError));
      } else {
        decide(visit, limits);
      }
    } catch (error) {
      refuse(context, res, next, error, onError);
    }
  };
}

/** All that stands between a request and its seat. @throws the refusal. */
async function pass(
  admission: Admission,
  req: IncomingMessage,
  res: ServerResponse,
  context: RequestContext,
): Promise<void> {
  const { record } = context;
  const since = performance.now();
  try {
    const visit = visitOf(admission, req, res, context);
    const limits = limitsOf(visit, res);
    const refusal = admission.refusal(visit, limits instanceof Promise ? await limits : limits);
    if (refusal !== null) throw refusal;
    await measure(admission, visit, context);
    await takeTokens(admission, visit, res, context);
    checkPresence(res);
    judge(admission, context, since);
    if (await takeSeat(admission, visit, res, context)) judge(admission, context, since);
    visit.pricedAt = since;
  } finally {
    record.queueWaitMs = performance.now() - since;
  }
}

/** The visit of a request; the first middleware to ask begins it, and it ends with the response. */
function visitOf(
  admission: Admission,
  req: IncomingMessage,
  res: ServerResponse,
  context: RequestContext,
): Visit {
  const { identity, record } = context;
  const known = admission.visitOf(req);
  if (known !== undefined) return known;
  const visit = admission.visit(req, identity);
  const leave = (): void => {
    const { attempts, inputLen, outputLen, deltas } = record;
    visit.leave(attempts === 0 ? 0 : (inputLen ?? 0) + (outputLen ?? deltas));
    compare(admission, visit, record);
  };
  if (res.closed) leave();
  else context.whenClosed(res, leave);
  return visit;
}

/** What the tenant's limits say; their headers go on the response, whatever it will be. */
function limitsOf({ limits }: Visit, res: ServerResponse): LimitVerdict | null | Promise<LimitVerdict> {
  if (limits instanceof Promise) return limits.then((verdict) => showLimits(verdict, res));
  return limits === null ? null : showLimits(limits, res);
}

function showLimits(verdict: LimitVerdict, res: ServerResponse): LimitVerdict {
  if (!res.headersSent) {
    for (const [name, value] of Object.entries(verdict.headers)) res.setHeader(name, value);
  }
  return verdict;
}

/** Whether somebody wants to know how long the prompt is. */
function isMeasured({ pricing }: Admission, { tenant }: Visit): boolean {
  return (
    (pricing !== null && pricing.mode !== 'open') || (tenant !== null && tenant.tokensPerMinute !== null)
  );
}

/** Finds out how long the prompt is, where somebody wants to know. */
async function measure(admission: Admission, visit: Visit, context: RequestContext): Promise<void> {
  const { body, route, requestId, record } = context;
  if (body === null || !isMeasured(admission, visit)) return;
  const { fleet } = admission;
  const length =
    fleet === null
      ? promptLength(body, CHARS_PER_TOKEN)
      : inputLength(fleet, body, guessRoute(route, body), requestId);
  record.inputLen = typeof length === 'number' ? length : await length;
}

/** Takes the tokens of the prompt, and those that are asked for; what comes out is set right at the end. */
async function takeTokens(
  { limiter }: Admission,
  visit: Visit,
  res: ServerResponse,
  { body, record }: RequestContext,
): Promise<void> {
  const { tenant } = visit;
  if (tenant === null || tenant.tokensPerMinute === null || body === null) return;
  const tokens = (record.inputLen ?? 0) + (wantedLength(body.outline) ?? 0);
  const draw = limiter.take(tenant, 0, tokens);
  const verdict = showLimits(draw instanceof Promise ? await draw : draw, res);
  if (verdict.waitS !== null) throw overOwnLimit(verdict.waitS);
  if (!verdict.isCounted) return;
  if (res.closed) limiter.settle(tenant, -tokens);
  else visit.tokens = tokens;
}

/** Puts a price on the request. @throws the refusal of one that is too high. */
function judge({ pricing }: Admission, { body, route, record }: RequestContext, since: number): void {
  if (pricing === null || pricing.mode === 'open' || body === null || record.inputLen === null) return;
  const plan = splitPlan(body, guessRoute(route, body));
  if (plan.kind === 'single-leg') return;
  const now = performance.now();
  const parts = plan.kind === 'list' ? plan.prompts.length : 1;
  const verdict = pricing.judge(record.inputLen, parts, (now - since) / 1000, now);
  if (verdict === null) return;
  record.priceMs = verdict.priceS * 1000;
  if (verdict.refusal === null) return;
  if (pricing.mode !== 'shadow') throw tooExpensive(verdict);
  record.shadow ??= verdict.refusal;
}

/** Tells pricing what came of a price. */
function compare({ pricing }: Admission, { pricedAt }: Visit, record: ServingRecord): void {
  const { priceMs, firstOutputAt, attempts } = record;
  if (pricing === null || priceMs === null || firstOutputAt === null) return;
  if (pricedAt !== null && attempts === 1) pricing.saw(priceMs / 1000, (firstOutputAt - pricedAt) / 1000);
}

/** Takes a seat, or waits for one. @returns whether it waited. @throws the refusal. */
async function takeSeat(
  { seats }: Admission,
  { tenant }: Visit,
  res: ServerResponse,
  context: RequestContext,
): Promise<boolean> {
  let hasWaited = false;
  const answer = await new Promise<SeatAnswer>((resolve) => {
    let leave: (() => void) | null = null;
    let isAnswered = false;
    const take = (given: SeatAnswer): void => {
      isAnswered = true;
      if (leave !== null) res.off('close', leave);
      resolve(given);
    };
    leave = seats.enter(take, tenant ?? undefined);
    if (isAnswered) return;
    hasWaited = true;
    res.once('close', leave);
  });
  switch (answer.kind) {
    case 'seated':
      if (res.closed) answer.release();
      else context.whenClosed(res, answer.release);
      checkPresence(res);
      return hasWaited;
    case 'full':
      throw houseFull();
    case 'tenant_full':
      throw overOwnLimit(answer.waitS);
    case 'expired':
      throw waitedTooLong();
    case 'left':
      throw new ClientGoneError();
  }
}

/** A client that left is not served; nor is a request that was answered meanwhile: the gateway is closing. */
function checkPresence(res: ServerResponse): void {
  if (res.closed || res.writableEnded) throw new ClientGoneError();
}
