/** Pure: limits per minute as buckets that fill steadily, and the headers that tell of them. */

/** What is limited. */
export type LimitName = 'requests' | 'tokens';

/** One bucket, and what is to be taken out of it. */
export interface Draw {
  /** Which limit of the tenant. */
  readonly name: LimitName;
  /** Its size, and how much flows in per minute. */
  readonly perMinute: number;
  /** How much is taken. Below zero to give back. */
  readonly cost: number;
}

/** What a store answers. */
export interface DrawAnswer {
  /** Everything was taken; else nothing was. */
  readonly allowed: boolean;
  /** What each bucket now holds, in the order of the draws. Below zero for one that was overdrawn. */
  readonly levels: readonly number[];
}

/**
 * Where buckets are kept: in memory, or in a store that several gateway processes share.
 *
 * `take` must be atomic: all draws or none.
 */
export interface LimitStore {
  /**
   * Takes from the buckets of a tenant. A new bucket is full.
   *
   * @param force take in any case: the cost is already spent, or is given back.
   */
  take(tenant: string, draws: readonly Draw[], force: boolean): DrawAnswer | Promise<DrawAnswer>;
}

/**
 * What a bucket must hold for a draw. One that costs more than the bucket can hold needs a full one, and
 * overdraws it: it must wait, not fail for ever.
 */
export function needed({ cost, perMinute }: Draw): number {
  return Math.min(cost, perMinute);
}

/** What a bucket holds after some time. */
export function refilled(level: number, perMinute: number, seconds: number): number {
  return Math.min(perMinute, level + (Math.max(0, seconds) * perMinute) / 60);
}

/** Seconds until all draws can be taken. */
export function waitS(draws: readonly Draw[], levels: readonly number[]): number {
  const waits = draws.map((draw, i) => ((needed(draw) - levels[i]!) * 60) / draw.perMinute);
  return Math.max(0, ...waits);
}

/** The headers, named and written as OpenAI's. */
export function limitHeaders(draws: readonly Draw[], levels: readonly number[]): Record<string, string> {
  const headers: Record<string, string> = {};
  draws.forEach(({ name, perMinute }, i) => {
    const level = levels[i]!;
    headers[`x-ratelimit-limit-${name}`] = String(perMinute);
    headers[`x-ratelimit-remaining-${name}`] = String(Math.max(0, Math.floor(level)));
    headers[`x-ratelimit-reset-${name}`] = duration(((perMinute - level) * 60) / perMinute);
  });
  return headers;
}

/** `88ms`, `7.66s`, `6m0s`: until the bucket is full again. */
export function duration(seconds: number): string {
  const ms = Math.max(0, Math.ceil(seconds * 1000));
  if (ms < 1000) return `${ms}ms`;
  const minutes = Math.floor(ms / 60_000);
  const rest = `${(ms - minutes * 60_000) / 1000}s`;
  return minutes === 0 ? rest : `${minutes}m${rest}`;
}
