/**
 * One admitted request, from its first leg to its last byte: the one place where the order is told.
 *
 * An attempt is a prefill leg, a handoff and a decode leg. A handoff is used once: every retry starts
 * with a fresh prefill, on engines that have not failed this request.
 */
import type { Engine } from '../engines/engine';
import { EngineFault } from '../engines/fault';
import type { Fleet, Seat } from '../engines/fleet';
import type { Handoff } from '../engines/ledger';
import type { CallBody } from '../engines/transport';
import { NarwhalError } from '../errors';
import type { Route } from '../request/schema';
import type { Roster } from '../roster';
import type { EventShapes } from './assembling/event-shapes';
import { DecodeLeg, type StreamConsumer } from './decode-leg';
import type { Job } from './job';
import { type LegOrder, requestExpired } from './leg';
import type { LegWriter } from './legs';
import { type PrefillAnswer, PrefillLeg } from './prefill-leg';
import type { Presence } from './presence';
import type { Reclaimer } from './reclaim';
import type { ServingRecord } from './record';
import { backoffMs, isTransient, type RetryBudget } from './retry';
import { type WholeAnswer, WholeLeg } from './whole-leg';

/** What is the same for every request of one fleet. */
export interface Serving {
  readonly fleet: Fleet;
  readonly writer: LegWriter;
  /** What assemblies have learned of the engines' events. */
  readonly shapes: Readonly<Record<Route, EventShapes>>;
  readonly retries: RetryBudget;
  readonly reclaimer: Reclaimer;
  /** From 0 to below 1; for the wait before a retry. */
  readonly random: () => number;
  /** Requests that are being served. */
  readonly active: Roster<Presence>;
}

/** Takes the one JSON document of a leg that does not stream. */
export interface WholeConsumer {
  take(answer: WholeAnswer): void;
}

/** Where the answer of the last leg goes. */
export type AnswerConsumer = StreamConsumer | WholeConsumer;

/**
 * Serves a job: attempts until one is good, until the client has seen output, or until nothing may be
 * tried any more.
 *
 * @throws {EngineFault | NarwhalError | ClientGoneError} the last fault.
 */
export async function serve(serving: Serving, job: Job, consumer: AnswerConsumer): Promise<void> {
  const { fleet, retries, random } = serving;
  const limits = fleet.config.serving;
  const excluded = new Set<Engine>();
  let lastFault: Error | null = null;
  for (let attempt = 1; ; attempt++) {
    job.record.attempts = Math.max(job.record.attempts, attempt);
    try {
      await new Attempt(serving, job, attempt, excluded, lastFault).run(consumer);
      retries.replenish();
      return;
    } catch (error) {
      noteFailure(job.record, attempt, error, limits.maxAttempts);
      lastFault = error as Error;
      const over = attempt >= limits.maxAttempts || job.answer.hasOutput;
      if (over || !isTransient(error)) throw error;
      const wait = backoffMs(limits, attempt, random());
      if (performance.now() + wait >= job.deadline || !retries.take()) throw error;
      job.record.phase = 'backoff';
      const since = performance.now();
      await job.presence.wait(wait);
      job.record.waited(since);
    }
  }
}

/** One attempt: its engines, its backend ids, its seats. */
class Attempt {
  readonly #serving: Serving;
  readonly #job: Job;
  readonly #attempt: number;
  /** Engines that failed this request; this attempt adds its own. */
  readonly #excluded: Set<Engine>;
  readonly #lastFault: Error | null;

  constructor(serving: Serving, job: Job, attempt: number, excluded: Set<Engine>, lastFault: Error | null) {
    this.#serving = serving;
    this.#job = job;
    this.#attempt = attempt;
    this.#excluded = excluded;
    this.#lastFault = lastFault;
  }

  /** @throws at once, or rejects, with the fault. */
  run(consumer: AnswerConsumer): Promise<void> {
    const { presence, deadline, oneLeg } = this.#job;
    presence.check();
    checkDeadline(deadline);
    const shape = oneLeg === true ? 'single' : this.#serving.fleet.shape();
    if (shape === 'none') throw this.#nobody();
    return shape === 'single' ? this.#decode(this.#place('single'), null, consumer) : this.#split(consumer);
  }

  async #split(consumer: AnswerConsumer): Promise<void> {
    const { fleet, writer } = this.#serving;
    const { record, body, part, presence, deadline } = this.#job;
    const seat = this.#place('prefill');
    const producer = seat.engine;
    record.phase = 'prefill';
    record.prefillIid = this.#firstPart(record.prefillIid, producer.iid);
    const leg = new PrefillLeg(this.#order('prefill', producer, writer.prefill(body, part?.prompt)));
    let answer: PrefillAnswer;
    try {
      answer = await leg.start();
    } catch (error) {
      this.#blame(error, producer, false);
      throw error;
    } finally {
      seat.release();
    }
    fleet.health.succeeded(producer);
    const handoff = fleet.ledger.take(producer, answer.handoff);
    record.phase = 'handoff';
    if (part === undefined || part.index === 0) record.prefillAnsweredAt = handoff.since;
    if (answer.promptTokens !== null && part === undefined) record.inputLen = answer.promptTokens;
    let decodeSeat: Seat;
    try {
      presence.check();
      checkDeadline(deadline);
      decodeSeat = this.#place('decode', producer);
      checkAge(fleet, handoff, decodeSeat);
    } catch (error) {
      this.#strand(handoff, null);
      throw error;
    }
    await this.#decode(decodeSeat, handoff, consumer);
  }

  async #decode(seat: Seat, handoff: Handoff | null, consumer: AnswerConsumer): Promise<void> {
    const { writer, fleet } = this.#serving;
    const { record, body, part, route } = this.#job;
    const { engine } = seat;
    record.phase = 'decode';
    record.decodeAttempts += 1;
    record.decodeIid = this.#firstPart(record.decodeIid, engine.iid);
    const leg =
      'take' in consumer
        ? new WholeLeg(this.#order('decode', engine, writer.whole(body)))
        : new DecodeLeg(
            this.#order(
              'decode',
              engine,
              writer.decode(body, handoff?.text ?? null, part?.prompt),
              handoff === null ? null : () => handoff.settle('claimed'),
            ),
            route,
            consumer,
          );
    try {
      const answer = await leg.start();
      if ('take' in consumer && answer !== undefined) consumer.take(answer);
      fleet.health.succeeded(engine);
    } catch (error) {
      this.#blame(error, engine, leg.hasBegun, handoff?.producer);
      throw error;
    } finally {
      seat.release();
      if (handoff !== null) this.#settle(handoff, leg.fate, engine);
    }
  }

  /** Decides who owns a handoff after its decode leg. */
  #settle(handoff: Handoff, fate: DecodeLeg['fate'], engine: Engine): void {
    if (fate === 'unsent' || fate === 'refused') {
      this.#strand(handoff, engine);
      return;
    }
    // One that may have been taken is not offered again: its blocks can be another request's by now.
    const end = fate === 'taken' ? 'claimed' : 'leased';
    handoff.settle(end);
    this.#job.record.noteHandoff(end);
  }

  /** Nobody took the handoff: it is reclaimed, while the request goes its own way. */
  #strand(handoff: Handoff, refusedBy: Engine | null): void {
    const { reclaimer } = this.#serving;
    this.#job.record.unfinished.push(reclaimer.reclaim(handoff, this.#job, this.#attempt, refusedBy));
  }

  #order(
    leg: 'prefill' | 'decode',
    engine: Engine,
    body: CallBody,
    taken: (() => void) | null = null,
  ): LegOrder {
    const { rid, path, presence, deadline, part, record, tokens } = this.#job;
    const suffix = part === undefined ? '' : `-${part.index}`;
    const backendId = `${rid}-a${this.#attempt}-${leg}${suffix}`;
    const { iid, config } = engine;
    const watch = record.watch({ leg, iid, origin: config.origin, attempt: this.#attempt, backendId });
    const trace = watch.trace(this.#job.trace);
    const { fleet } = this.#serving;
    return { fleet, engine, leg, path, backendId, body, tokens, trace, watch, presence, deadline, taken };
  }

  /** @throws the fault that says that no engine is left. */
  #place(kind: 'prefill' | 'decode' | 'single', avoid?: Engine): Seat {
    const seat = this.#serving.fleet.place(kind, this.#job.tokens, this.#excluded, avoid ?? null);
    if (seat === null) throw this.#nobody();
    return seat;
  }

  /** Before the first fault: no engine is there. After it: the client gets that fault. */
  #nobody(): NarwhalError {
    const last = this.#lastFault;
    if (!(last instanceof EngineFault)) {
      const { engines } = this.#serving.fleet;
      const out = engines.filter(({ isLive }) => !isLive).map((one) => `${one.iid} is ${one.outOfPlacement}`);
      const detail = `no engine in placement: ${out.length > 0 ? out.join(', ') : 'none has the role'}`;
      return new NarwhalError('noEngine', 'no engine can take the request now', { retryAfterS: 1, detail });
    }
    const seen = last.toClient();
    const outcome = seen.status === 504 ? 'noEngineLeftInTime' : 'noEngineLeft';
    return new NarwhalError(outcome, seen.message, { leg: last.leg, detail: last.message });
  }

  /** Notes a failure against the engine, and keeps this request's next attempt off it. */
  #blame(error: unknown, engine: Engine, hadBegun: boolean, producer?: Engine): void {
    if (error instanceof EngineFault) this.#serving.fleet.health.failed(engine, error, hadBegun);
    if (!isTransient(error)) return;
    this.#excluded.add(engine);
    // The cache itself may be at fault, so the producer goes too, where another can produce.
    if (producer === undefined) return;
    const others = this.#serving.fleet
      .liveOf('prefill')
      .some((e) => e !== producer && !this.#excluded.has(e));
    if (others) this.#excluded.add(producer);
  }

  /** The row names the engines of the first part of a list. */
  #firstPart(known: string | null, iid: string): string {
    const { part } = this.#job;
    return part !== undefined && part.index > 0 && known !== null ? known : iid;
  }
}

function checkDeadline(deadline: number): void {
  if (performance.now() >= deadline) throw requestExpired();
}

/** A decode engine that reads an expired cache answers garbage with a 200. */
function checkAge({ connector, config }: Fleet, handoff: Handoff, seat: Seat): void {
  const maxAgeS = connector.maxAgeS(config.engine.kvLeaseS);
  if (performance.now() - handoff.since <= maxAgeS * 1000) return;
  seat.release();
  throw new NarwhalError('handoffExpired', 'the handoff of the prefill engine expired before decode');
}

/** Most characters of a failure's text that the journal keeps. */
const MAX_TEXT = 240;

/** The parts of a list fail on their own: the row keeps the first `most` of all. */
function noteFailure(record: ServingRecord, attempt: number, error: unknown, most: number): void {
  if (!(error instanceof EngineFault) || record.failures.length >= most) return;
  const { leg, iid, status } = error;
  const { reason } = error.toClient();
  record.failures.push({ attempt, leg, iid, reason, status, message: error.message.slice(0, MAX_TEXT) });
}
