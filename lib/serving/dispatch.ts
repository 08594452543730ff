/**
 * One admitted request, from its first leg to its last byte: the one place where the order is told.
 *
 * An attempt is a prefill leg, a handoff and a decode leg. A handoff is used once: every retry starts
 * with a fresh prefill, on engines that have not failed this request.
 */
import type { Engine } from '../engines/engine';
import { EngineFault } from '../engines/fault';
import type { Fleet, Seat } from '../engines/fleet';
import { NarwhalError } from '../errors';
import type { ParsedBody } from '../request/parse-body';
import type { Answer } from './answer';
import type { Route } from '../request/schema';
import { DecodeLeg, type StreamConsumer } from './decode-leg';
import { type LegOrder, requestExpired } from './leg';
import type { LegWriter } from './legs';
import { PrefillLeg } from './prefill-leg';
import type { Presence } from './presence';
import type { ServingRecord } from './record';
import { backoffMs, isTransient, type RetryBudget } from './retry';

/** What is the same for every request of one fleet. */
export interface Serving {
  readonly fleet: Fleet;
  readonly writer: LegWriter;
  readonly retries: RetryBudget;
  /** From 0 to below 1; for the wait before a retry. */
  readonly random: () => number;
  /** Requests that are being served. */
  readonly active: Set<Presence>;
}

/** One request, or one prompt of a list. */
export interface Job {
  readonly rid: string;
  readonly route: Route;
  /** Path at the engine, e.g. `/v1/completions`. */
  readonly path: string;
  readonly body: ParsedBody;
  readonly trace: Readonly<Record<string, string>>;
  readonly presence: Presence;
  readonly answer: Answer;
  readonly record: ServingRecord;
  /** Monotonic ms at which the request ends. */
  readonly deadline: number;
  /** Estimated tokens of the prompt. */
  readonly tokens: number;
  /** One prompt of a list: its place, and its raw JSON text. */
  readonly part?: { readonly index: number; readonly prompt: Buffer };
  /** One leg on an engine of role `both`, because the prompt cannot be split. */
  readonly oneLeg?: boolean;
}

/**
 * Serves a job: attempts until one is good, until the client has seen output, or until nothing may be
 * tried any more.
 *
 * @throws {EngineFault | NarwhalError | ClientGoneError} the last fault.
 */
export async function serve(serving: Serving, job: Job, consumer: StreamConsumer): Promise<void> {
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
      noteFailure(job.record, attempt, error);
      lastFault = error as Error;
      const over = attempt >= limits.maxAttempts || job.answer.hasOutput;
      if (over || !isTransient(error)) throw error;
      const wait = backoffMs(limits, attempt, random());
      if (performance.now() + wait >= job.deadline || !retries.take()) throw error;
      job.record.phase = 'backoff';
      await job.presence.wait(wait);
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

  async run(consumer: StreamConsumer): Promise<void> {
    const { presence, deadline, oneLeg } = this.#job;
    presence.check();
    if (performance.now() >= deadline) throw requestExpired();
    const shape = oneLeg === true ? 'single' : this.#serving.fleet.shape();
    if (shape === 'none') throw this.#nobody();
    if (shape === 'single') await this.#single(consumer);
    else await this.#split(consumer);
  }

  async #single(consumer: StreamConsumer): Promise<void> {
    const seat = this.#place('single');
    await this.#decode(seat, null, consumer);
  }

  async #split(consumer: StreamConsumer): Promise<void> {
    const { fleet, writer } = this.#serving;
    const { record, body, part, presence } = this.#job;
    const seat = this.#place('prefill');
    const producer = seat.engine;
    record.phase = 'prefill';
    record.prefillIid = this.#firstPart(record.prefillIid, producer.iid);
    let answer: Awaited<PrefillLeg['result']>;
    try {
      answer = await new PrefillLeg(
        this.#order('prefill', producer, writer.prefill(body, part?.prompt)),
      ).start();
    } catch (error) {
      this.#exclude(error, producer);
      throw error;
    } finally {
      seat.release();
    }
    const heldSince = performance.now();
    record.phase = 'handoff';
    if (part === undefined || part.index === 0) record.prefillAnsweredAt = heldSince;
    if (answer.promptTokens !== null && part === undefined) record.inputLen = answer.promptTokens;
    presence.check();
    const decodeSeat = this.#place('decode', producer);
    const maxAgeS = fleet.connector.maxAgeS(fleet.config.engine.kvLeaseS);
    if (performance.now() - heldSince > maxAgeS * 1000) {
      decodeSeat.release();
      throw new NarwhalError('handoffExpired', 'the handoff of the prefill engine expired before decode');
    }
    await this.#decode(decodeSeat, answer.handoff, consumer, producer);
  }

  async #decode(
    seat: Seat,
    handoff: Buffer | null,
    consumer: StreamConsumer,
    producer?: Engine,
  ): Promise<void> {
    const { writer } = this.#serving;
    const { record, body, part, route } = this.#job;
    record.phase = 'decode';
    record.decodeAttempts += 1;
    record.decodeIid = this.#firstPart(record.decodeIid, seat.engine.iid);
    const text = writer.decode(body, handoff, part?.prompt);
    if (handoff !== null) record.kv = 'claimed';
    try {
      await new DecodeLeg(this.#order('decode', seat.engine, text), route, consumer).start();
    } catch (error) {
      this.#exclude(error, seat.engine, producer);
      throw error;
    } finally {
      seat.release();
    }
  }

  #order(leg: 'prefill' | 'decode', engine: Engine, body: Buffer): LegOrder {
    const { rid, path, trace, presence, deadline, part } = this.#job;
    const suffix = part === undefined ? '' : `-${part.index}`;
    const backendId = `${rid}-a${this.#attempt}-${leg}${suffix}`;
    return { fleet: this.#serving.fleet, engine, leg, path, backendId, body, trace, presence, deadline };
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
      return new NarwhalError('noEngine', 'no engine can take the request now', { retryAfterS: 1 });
    }
    const seen = last.toClient();
    const outcome = seen.status === 504 ? 'noEngineLeftInTime' : 'noEngineLeft';
    return new NarwhalError(outcome, seen.message, { leg: last.leg, detail: last.message });
  }

  #exclude(error: unknown, engine: Engine, producer?: Engine): void {
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

/** Most characters of a failure's text that the journal keeps. */
const MAX_TEXT = 240;

function noteFailure(record: ServingRecord, attempt: number, error: unknown): void {
  if (!(error instanceof EngineFault)) return;
  const { leg, iid, status } = error;
  const { reason } = error.toClient();
  record.failures.push({ attempt, leg, iid, reason, status, message: error.message.slice(0, MAX_TEXT) });
}
