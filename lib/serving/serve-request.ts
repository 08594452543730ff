/** One admitted request: streamed or not, whole or as a list of prompts. */
import type { ServerResponse } from 'node:http';
import { EngineFault } from '../engines/fault';
import type { Fleet } from '../engines/fleet';
import { isNarwhalError, NarwhalError } from '../errors';
import { type SplitPlan, splitPlan } from '../request/indivisible';
import type { BodyValue, ParsedBody } from '../request/parsed-body';
import { ROUTE_PATHS } from '../request/route';
import type { Route } from '../request/schema';
import { Roster } from '../roster';
import { Answer } from './answer';
import { EventShapes } from './assembling/event-shapes';
import { Assembly } from './assembly';
import { type Serving, serve } from './dispatch';
import { serveList } from './fan-out';
import type { Job } from './job';
import { LegWriter } from './legs';
import { Presence } from './presence';
import { inputLength } from './prompt-length';
import { Reclaimer } from './reclaim';
import type { ServingRecord } from './record';
import { Relay } from './relay';
import { RetryBudget } from './retry';
import { cutUnread } from './unread';
import { noteUsage, wantsUsage } from './usage';

/** What serving takes over from the middlewares. */
export interface AdmittedRequest {
  readonly rid: string;
  readonly route: Route;
  readonly body: ParsedBody;
  readonly trace: Readonly<Record<string, string>>;
  readonly record: ServingRecord;
  /** Monotonic ms; the request's deadline counts from here. */
  readonly arrivedAt: number;
  readonly res: ServerResponse;
  /** Calls back when the response is over; not where it is over already. */
  readonly whenClosed: (step: () => void) => void;
}

/** The parts of serving that all requests of a fleet share. */
export function createServing(fleet: Fleet): Serving {
  const { dialect, connector, config } = fleet;
  const writer = new LegWriter(dialect, connector, config.model);
  return {
    fleet,
    writer,
    shapes: { chat: new EventShapes(), completion: new EventShapes() },
    reclaimer: new Reclaimer(fleet, writer),
    retries: new RetryBudget(config.serving),
    random: Math.random,
    active: new Roster(),
  };
}

/**
 * Serves a request to its last byte. When it resolves, a good answer has been written; when the stream
 * had begun before a fault, the error frame has been written as well.
 *
 * @throws {NarwhalError | ClientGoneError} what the request ended with.
 */
export async function serveRequest(serving: Serving, request: AdmittedRequest): Promise<void> {
  const { body, route, record, res, whenClosed } = request;
  const { config } = serving.fleet;
  const plan = splitPlan(body, route);
  checkSingleLeg(serving.fleet, plan);
  const answer = new Answer(res);
  const presence = new Presence();
  const leave = (): void => {
    if (!res.writableFinished) presence.leave();
  };
  if (res.closed) leave();
  whenClosed(leave);
  const place = serving.active.add(presence);
  // Known already where the request came through an admission gate that needed it.
  const length = record.inputLen ?? inputLength(serving.fleet, body, route, request.rid);
  const tokens = typeof length === 'number' ? length : await length;
  const job: Job = {
    rid: request.rid,
    route,
    path: ROUTE_PATHS[route],
    body,
    trace: request.trace,
    presence,
    answer,
    record,
    deadline: request.arrivedAt + config.serving.requestTimeoutS * 1000,
    tokens,
    oneLeg: plan.kind === 'single-leg',
  };
  record.inputLen = job.tokens;
  record.wantedLen = wantedLength(body.outline);
  const stopBeating = beat(serving, job);
  try {
    if (plan.kind === 'list') await serveList(serving, job, plan.prompts);
    else if (body.outline['stream'] === true) await serveStream(serving, job, choicesOf(plan));
    else if (plan.kind === 'single-leg') await servePlain(serving, job);
    else await serveWhole(serving, job);
    learn(serving.fleet, record);
  } catch (error) {
    const known = toClient(error);
    if (isNarwhalError(known) && res.headersSent) answer.endWithError(known);
    throw known;
  } finally {
    stopBeating();
    serving.active.remove(place);
    cutUnread(res, job.deadline);
  }
}

async function serveStream(serving: Serving, job: Job, choices: number): Promise<void> {
  const { answer, record, route, body } = job;
  const options = { route, wantsUsage: wantsUsage(body.outline), choices };
  await serve(serving, job, new Relay(answer, record, options));
  answer.done();
}

/** A list of prompts in one leg is answered with a choice for each. */
function choicesOf(plan: SplitPlan): number {
  return plan.kind === 'single-leg' ? plan.prompts : 1;
}

async function serveWhole(serving: Serving, job: Job): Promise<void> {
  const { maxResponseBytes } = serving.fleet.config.serving;
  const shapes = serving.shapes[job.route];
  const assembly = new Assembly(job.route, { maxBytes: maxResponseBytes, shapes }, job.record);
  await serve(serving, job, assembly);
  job.answer.json(200, assembly.finish());
}

/** One leg, one JSON document: the engine's bytes are the client's. */
async function servePlain(serving: Serving, job: Job): Promise<void> {
  const { record, answer } = job;
  let bytes: Buffer | null = null;
  await serve(serving, job, {
    take({ bytes: document, value }) {
      bytes = document;
      record.firstOutputAt = performance.now();
      record.lastOutputAt = record.firstOutputAt;
      const { usage, choices } = value;
      if (typeof usage === 'object' && usage !== null) noteUsage(record, usage);
      const reason = Array.isArray(choices)
        ? (choices[0] as { finish_reason?: unknown })?.finish_reason
        : null;
      record.finishReason = typeof reason === 'string' ? reason : null;
    },
  });
  if (bytes !== null) answer.json(200, bytes);
}

/** Intervals of fewer tokens are mostly noise. */
const MIN_INTERVALS = 8;

/** What a served request teaches admission of its decode engine. */
function learn(fleet: Fleet, record: ServingRecord): void {
  const { prefillAnsweredAt, firstOutputAt, lastOutputAt, outputLen, decodeIid } = record;
  if (record.attempts !== 1 || record.parts !== null || firstOutputAt === null || lastOutputAt === null)
    return;
  const engine = fleet.engine(decodeIid ?? '');
  if (engine === undefined) return;
  if (prefillAnsweredAt !== null) engine.speed.sawFirstToken((firstOutputAt - prefillAnsweredAt) / 1000);
  const intervals = (outputLen ?? 0) - 1;
  if (intervals < MIN_INTERVALS) return;
  // The request's own seat has been given back by now.
  engine.speed.sawInterval(engine.decodes + 1, (lastOutputAt - firstOutputAt) / 1000 / intervals);
}

/** Comments for a stream that has had no output for `heartbeat_s`; they stop at the first output. */
function beat(serving: Serving, { body, answer }: Job): () => void {
  const { heartbeatS } = serving.fleet.config.serving;
  if (heartbeatS <= 0 || body.outline['stream'] !== true) return () => {};
  const timer = setInterval(() => {
    if (answer.hasOutput) clearInterval(timer);
    else answer.comment();
  }, heartbeatS * 1000);
  return () => clearInterval(timer);
}

function checkSingleLeg(fleet: Fleet, plan: SplitPlan): void {
  if (plan.kind !== 'single-leg' || fleet.has('both')) return;
  const { field } = plan;
  throw new NarwhalError(
    'badOutputOption',
    `${field} needs an engine of role both, which this fleet has not`,
    {
      param: field,
    },
  );
}

/** The most tokens that the client asked for. */
export function wantedLength(value: BodyValue): number | null {
  for (const name of ['max_completion_tokens', 'max_tokens']) {
    const wanted = value[name];
    if (typeof wanted === 'number') return wanted;
  }
  return null;
}

function toClient(error: unknown): unknown {
  return error instanceof EngineFault ? error.toClient() : error;
}
