/** Looks after the engines: asks the live ones whether they live, and the ejected ones whether they are well. */
import type { FleetConfig } from '../config/fleet-config';
import type { FailureClass } from './breaker';
import type { Engine } from './engine';
import type { Health } from './health';
import { type Probing, probeHealth, probeInference } from './probe';

/** Suspicions that an answer of `/health` cannot clear. */
const NEEDS_INFERENCE: ReadonlySet<FailureClass> = new Set([
  'inference_status',
  'kv_handoff',
  'stream',
  'timeout',
]);

/** One timer for a fleet; it keeps no process alive. */
export class Monitor {
  readonly #engines: readonly Engine[];
  readonly #health: Health;
  readonly #probing: Probing;
  readonly #config: FleetConfig;
  readonly #busy = new Set<Engine>();
  #timer: NodeJS.Timeout | null = null;
  #ticks = 0;

  constructor(engines: readonly Engine[], health: Health, probing: Probing) {
    this.#engines = engines;
    this.#health = health;
    this.#probing = probing;
    this.#config = probing.config;
  }

  start(): void {
    const { monitorIntervalS } = this.#config.controller;
    this.#timer = setInterval(() => this.tick(), monitorIntervalS * 1000);
    this.#timer.unref();
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  /** One interval: starts whatever probes are due. An engine is asked one thing at a time. */
  tick(): void {
    this.#ticks++;
    const { livenessEvery, readmitEvery } = this.#config.recovery;
    for (const engine of this.#engines) {
      if (this.#busy.has(engine)) continue;
      if (engine.isLive) {
        if (this.#ticks % livenessEvery === 0) this.#run(engine, () => this.#checkLife(engine));
      } else if (this.#ticks % readmitEvery === 0 && this.#health.mayReturn(engine)) {
        this.#run(engine, () => this.#checkReturn(engine));
      }
    }
  }

  /**
   * Brings an engine back by hand: after a good health and one-token probe.
   *
   * @returns whether the probes were good.
   */
  async readmit(engine: Engine): Promise<boolean> {
    const { ok } = await probeHealth(this.#probing, engine);
    if (!ok || !(await probeInference(this.#probing, engine))) return false;
    engine.isDrained = false;
    this.#health.readmit(engine);
    return true;
  }

  #run(engine: Engine, work: () => Promise<void>): void {
    this.#busy.add(engine);
    // A probe never rejects; a host's own client might make it.
    void work().then(
      () => this.#busy.delete(engine),
      () => this.#busy.delete(engine),
    );
  }

  async #checkLife(engine: Engine): Promise<void> {
    this.#health.probed(engine, await probeHealth(this.#probing, engine));
  }

  async #checkReturn(engine: Engine): Promise<void> {
    const { breaker } = engine;
    if (breaker.kind !== 'ejected') return;
    const { ok } = await probeHealth(this.#probing, engine);
    if (!ok) return;
    if (NEEDS_INFERENCE.has(breaker.suspicion) && !(await probeInference(this.#probing, engine))) return;
    this.#health.readmit(engine);
  }
}
