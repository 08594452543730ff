/**
 * Makes a producer let go of a handoff that no decode engine accepted.
 *
 * There is no call to release one (vLLM has none), so a decode engine is asked for one token with it: it
 * pulls the cache and the producer's blocks are free. Bounded, so that a burst of leaving clients does
 * not become a load of its own; what is not reclaimed is left to the producer's lease, and counted.
 */
import { ask } from '../engines/ask';
import type { Engine } from '../engines/engine';
import type { Fleet } from '../engines/fleet';
import type { Handoff } from '../engines/ledger';
import { leastLoaded } from '../engines/placement';
import type { Job } from './job';
import { engineHeaders } from './leg';
import type { LegWriter } from './legs';
import { Presence } from './presence';

/** Reclaim legs at a time, for one fleet. */
const MAX_RUNNING = 4;
/** Seconds for one leg, and for the wait in front of it. */
const MAX_S = 5;

/** Reclaims the handoffs of one fleet. */
export class Reclaimer {
  readonly #fleet: Fleet;
  readonly #writer: LegWriter;
  readonly #waiting: ((seated: boolean) => void)[] = [];
  /** Ends every reclaim leg at once. */
  readonly #time = new Presence();
  #running = 0;

  constructor(fleet: Fleet, writer: LegWriter) {
    this.#fleet = fleet;
    this.#writer = writer;
  }

  /** No time is left: what is not reclaimed by now is left to its lease. */
  stop(): void {
    for (const enter of this.#waiting.splice(0)) enter(false);
    this.#time.leave();
  }

  /**
   * Reclaims one handoff. Resolves when it is reclaimed or left to its lease; never rejects.
   *
   * @param refusedBy the decode engine that did not want it: another is asked, if there is one.
   */
  async reclaim(handoff: Handoff, job: Job, attempt: number, refusedBy: Engine | null): Promise<void> {
    const seated = await this.#enter();
    const done = seated && (await this.#ask(handoff, job, attempt, refusedBy));
    if (seated) this.#leave();
    handoff.settle(done ? 'reclaimed' : 'leased');
    job.record.noteHandoff(done ? 'reclaimed' : 'leased');
  }

  async #ask(handoff: Handoff, job: Job, attempt: number, refusedBy: Engine | null): Promise<boolean> {
    const { config, connector, transport } = this.#fleet;
    const ageS = (performance.now() - handoff.since) / 1000;
    // A cache that may be gone already is not asked for: its blocks may be another request's by now.
    if (ageS > connector.maxAgeS(config.engine.kvLeaseS)) return false;
    const engine = leastLoaded(this.#fleet.liveOf('decode'), 'decode', 0, performance.now(), refusedBy);
    if (engine === null) return false;
    const { rid, path, body, trace, part, record } = job;
    const suffix = part === undefined ? '' : `-${part.index}`;
    const backendId = `${rid}-a${attempt}-reclaim${suffix}`;
    const { iid, config: of } = engine;
    const watch = record.watch({ leg: 'reclaim', iid, origin: of.origin, attempt, backendId });
    const headers = engineHeaders(config, backendId, watch.trace(trace));
    const text = this.#writer.reclaim(body, handoff.text, part?.prompt);
    const question = { method: 'POST', path, headers, body: text } as const;
    const { status } = await watch.send(() => ask(transport, engine, question, MAX_S, this.#time));
    watch.end(status === 200 ? null : new Error(`the engine answered ${status}`));
    return status === 200;
  }

  /** Waits for one of the places. @returns false when none came free in time. */
  #enter(): Promise<boolean> {
    if (this.#time.isGone) return Promise.resolve(false);
    if (this.#running < MAX_RUNNING) {
      this.#running++;
      return Promise.resolve(true);
    }
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(enter), 1);
        enter(false);
      }, MAX_S * 1000);
      const enter = (seated: boolean): void => {
        clearTimeout(timer);
        resolve(seated);
      };
      this.#waiting.push(enter);
    });
  }

  #leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#running--;
    else next(true);
  }
}
