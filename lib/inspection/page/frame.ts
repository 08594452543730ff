/** What a viewer of the fleet page is sent, once a second: all of it, so that any frame may be missed. */

/** One engine. Its address is left out. */
export interface EngineView {
  readonly iid: string;
  readonly role: 'prefill' | 'decode' | 'both';
  /**
   * `live`; live and watched: `probation` (back since a moment), `cooling` (it asked for time); without new
   * work: `ejected`, `draining` (drained, work still runs on it), `drained`.
   */
  readonly state: 'live' | 'probation' | 'cooling' | 'ejected' | 'draining' | 'drained';
  /** Class of evidence that ejected it; null while it is not ejected. */
  readonly suspicion: string | null;
  /** Seconds until it may be probed for its return; null where none run. */
  readonly quarantine_s: number | null;
  readonly prefills: number;
  readonly prefill_tokens: number;
  readonly decodes: number;
  readonly handoffs_held: number;
  /** Since the start. */
  readonly failures: number;
  readonly ejections: number;
}

/** Median and 95th percentile, seconds; null where nothing was measured. */
export type Spread = readonly [median: number, high: number] | null;

/** The requests that ended within one bin of time. */
export interface BinView {
  readonly completed: number;
  readonly failed: number;
  readonly refused: number;
  readonly first_byte: Spread;
  readonly token_interval: Spread;
}

/** Requests by how they ended. */
export interface EndCounts {
  readonly completed: number;
  /** `failed` and `expired`. */
  readonly failed: number;
  /** `refused`, `rejected` and `invalid`. */
  readonly refused: number;
  readonly cancelled: number;
}

/** How often requests were refused for one reason. */
export interface RefusalView {
  readonly terminal: string;
  readonly reason: string;
  readonly recent: number;
  readonly total: number;
}

/** One request that failed. No text of it, no address, no key, no tenant. */
export interface FailureView {
  readonly rid: string;
  readonly route: string;
  readonly terminal: string;
  readonly reason: string;
  readonly status: number;
  readonly attempts: number;
  /** Those of the last attempt, then others that it failed on before. */
  readonly engines: readonly string[];
  /** When it ended, ISO 8601. */
  readonly at: string;
  readonly age_s: number;
}

/** The gateway now, and in the last minutes. */
export interface PageFrame {
  readonly version: string;
  readonly model: string;
  readonly status: 'serving' | 'draining';
  readonly uptime_s: number;
  /** How a request would be served now: two legs, one, or not at all. */
  readonly shape: 'split' | 'single' | 'none';
  readonly in_flight: number;
  readonly queued: number;
  readonly queue_capacity: number;
  readonly seats_taken: number;
  readonly seats: number;
  readonly handoffs_held: number;
  readonly retries: number;
  readonly journal_rows_lost: number;
  readonly engines: readonly EngineView[];
  /** Seconds of one bin. */
  readonly bin_s: number;
  /** The last whole bins, oldest first. */
  readonly bins: readonly BinView[];
  /** Over the last minute. */
  readonly first_byte: Spread;
  readonly token_interval: Spread;
  /** Over the bins. */
  readonly recent: EndCounts;
  /** Since the start. */
  readonly total: EndCounts;
  /** Those that happened, most recent counts first. */
  readonly refusals: readonly RefusalView[];
  /** The last ones, newest first. */
  readonly failures: readonly FailureView[];
}
