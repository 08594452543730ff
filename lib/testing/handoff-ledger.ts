import { performance } from 'node:perf_hooks';
import { isJsonObject } from './raw-json';

/** A handoff that a prefill engine of the fleet produced. */
export interface StubHandoff {
  /** Its JSON text as sent. */
  readonly text: string;
  /** The engine that holds the blocks, and the id it had then. */
  readonly iid: string;
  /** Id of the process that held them: a new one after a restart. */
  readonly engineId: string;
  /** `x-request-id` of the prefill leg. */
  readonly requestId: string;
  /** Path of the prefill leg. */
  readonly path: string;
  /** When it was produced, `performance.now()` in ms. */
  readonly at: number;
  /** Texts of the prefill body's members. */
  readonly members: ReadonlyMap<string, string>;
  /** `open`: nobody took it. `released`: a reclaim leg made the producer let go. */
  state: 'open' | 'claimed' | 'released' | 'expired';
  /** `iid` of the decode engine that took it. */
  claimedBy: string | null;
  /** Decode legs that came with it, reclaim legs not counted. */
  uses: number;
}

/** Counts over all handoffs of a fleet. */
export interface StubLedger {
  /** All that prefill engines answered with. */
  readonly produced: number;
  /** Taken by a decode engine. */
  readonly claimed: number;
  /** Came to a decode engine after the lease was over. */
  readonly expired: number;
  /** Let go by a reclaim leg. */
  readonly released: number;
  /** Neither claimed, released nor expired. */
  readonly open: readonly StubHandoff[];
}

function field(text: string, name: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value[name] : undefined;
  } catch {
    return undefined;
  }
}

/** Remembers every handoff and what became of it. */
export class HandoffLedger implements StubLedger {
  readonly #all: StubHandoff[] = [];

  #count(state: StubHandoff['state']): number {
    return this.#all.filter((handoff) => handoff.state === state).length;
  }

  get produced(): number {
    return this.#all.length;
  }

  get claimed(): number {
    return this.#count('claimed');
  }

  get expired(): number {
    return this.#count('expired');
  }

  get released(): number {
    return this.#count('released');
  }

  get open(): readonly StubHandoff[] {
    return this.#all.filter((handoff) => handoff.state === 'open');
  }

  add(source: Pick<StubHandoff, 'text' | 'iid' | 'engineId' | 'requestId' | 'path' | 'members'>): void {
    this.#all.push({ ...source, at: performance.now(), state: 'open', claimedBy: null, uses: 0 });
  }

  /**
   * The handoff that a decode leg means: the one with this text (an unused one first, since scripted handoffs
   * may repeat), else the one with this `remote_request_id`.
   */
  find(text: string): StubHandoff | undefined {
    const same = this.#all.filter((handoff) => handoff.text === text);
    const exact = same.find((handoff) => handoff.uses === 0 && handoff.state === 'open') ?? same.at(-1);
    if (exact !== undefined) return exact;
    const id = field(text, 'remote_request_id');
    if (typeof id !== 'string') return undefined;
    return this.#all.find((handoff) => field(handoff.text, 'remote_request_id') === id);
  }

  clear(): void {
    this.#all.length = 0;
  }
}
