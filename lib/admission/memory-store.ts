/** Buckets in this process's memory. */
import { type Draw, type DrawAnswer, type LimitName, type LimitStore, needed, refilled } from './limits';

interface Bucket {
  level: number;
  perMinute: number;
  /** Monotonic ms of `level`. */
  at: number;
}

type Buckets = Partial<Record<LimitName, Bucket>>;

/** Tenants that may be kept; above it the one that was idle longest goes, with what it owes. */
const MAX_TENANTS = 10_000;
/** After so many draws, tenants whose buckets are full again are forgotten: it makes no difference. */
const SWEEP_EVERY = 256;

/** The default store. */
export class MemoryStore implements LimitStore {
  readonly #tenants = new Map<string, Buckets>();
  readonly #now: () => number;
  #draws = 0;

  /** @param now monotonic ms. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Tenants that are kept now. */
  get size(): number {
    return this.#tenants.size;
  }

  take(tenant: string, draws: readonly Draw[], force: boolean): DrawAnswer {
    const now = this.#now();
    const buckets = this.#tenants.get(tenant) ?? {};
    const levels = draws.map(({ name, perMinute }) => levelOf(buckets[name], perMinute, now));
    const allowed = force || draws.every((draw, i) => levels[i]! >= needed(draw));
    if (!allowed) return { allowed, levels };
    draws.forEach(({ name, perMinute, cost }, i) => {
      const level = Math.min(perMinute, levels[i]! - cost);
      levels[i] = level;
      buckets[name] = { level, perMinute, at: now };
    });
    // To the end: the map's order is that of the last use.
    this.#tenants.delete(tenant);
    this.#tenants.set(tenant, buckets);
    this.#tidy(now);
    return { allowed, levels };
  }

  #tidy(now: number): void {
    if (++this.#draws % SWEEP_EVERY === 0) {
      for (const [tenant, buckets] of this.#tenants) if (isFull(buckets, now)) this.#tenants.delete(tenant);
    }
    if (this.#tenants.size <= MAX_TENANTS) return;
    const [oldest] = this.#tenants.keys();
    if (oldest !== undefined) this.#tenants.delete(oldest);
  }
}

function levelOf(bucket: Bucket | undefined, perMinute: number, now: number): number {
  return bucket === undefined ? perMinute : refilled(bucket.level, perMinute, (now - bucket.at) / 1000);
}

function isFull(buckets: Buckets, now: number): boolean {
  return Object.values(buckets).every((bucket) => levelOf(bucket, bucket.perMinute, now) >= bucket.perMinute);
}
