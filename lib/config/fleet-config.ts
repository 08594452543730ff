/** What a checked fleet file is in code: every field present, camelCase, frozen. */

/**
 * What an engine does. `both` serves a request in one leg, with no handoff: plain vLLM, llama.cpp,
 * any OpenAI-compatible server.
 */
export type EngineRole = 'prefill' | 'decode' | 'both';

/** One engine of the fleet. */
export interface EngineConfig {
  /** Its name in the journal, the metrics and the inspection routes; unique in the fleet. */
  readonly iid: string;
  /** The URL as written, or the value of the variable that was written there. */
  readonly url: string;
  /** `http(s)://host:port`, in brackets for IPv6; a default port is left out. */
  readonly origin: string;
  /** Path before `/v1`, without a trailing slash; empty where there is none. */
  readonly prefix: string;
  readonly role: EngineRole;
  /** The role never changes. */
  readonly pin: boolean;
}

/** Targets, in seconds. */
export interface SloConfig {
  readonly ttftS: number | null;
  readonly tpotS: number | null;
}

/** Who decides on entry: nobody, the predicted wait, or the predicted wait without effect. */
export type AdmissionMode = 'open' | 'predictive' | 'shadow';

/** Limits and retries of a request. Seconds and bytes. */
export interface ServingConfig {
  readonly maxConnections: number;
  readonly queueCapacity: number;
  readonly queueTimeoutS: number;
  readonly maxRequestBytes: number;
  readonly maxResponseBytes: number;
  readonly requestTimeoutS: number;
  readonly prefillTimeoutS: number;
  readonly maxAttempts: number;
  readonly retryBaseS: number;
  readonly retryCapS: number;
  readonly retryBudget: number;
  readonly retryReplenish: number;
  readonly admission: AdmissionMode;
  readonly admissionMargin: number;
  readonly heartbeatS: number;
}

/** How engines are spoken to. Seconds. */
export interface EngineSectionConfig {
  readonly dialect: 'vllm';
  readonly connector: 'nixl';
  /**
   * The engines' bearer key, read from the variable; null where none is named. Not enumerable: it
   * stays out of JSON and logs, and also out of a copy made by spreading.
   */
  readonly apiKey: string | null;
  readonly firstTokenTimeoutS: number;
  readonly decodeReadTimeoutS: number;
  readonly connectTimeoutS: number;
  readonly poolTimeoutS: number;
  readonly healthTimeoutS: number;
  readonly keepaliveS: number;
  readonly tokenize: boolean;
  readonly tokenizeTimeoutS: number;
  readonly charsPerToken: number;
  readonly kvLeaseS: number;
}

/** When an engine leaves placement and comes back. Counts, and seconds. */
export interface RecoveryConfig {
  readonly ejectAfter: number;
  readonly livenessEvery: number;
  readonly livenessMisses: number;
  readonly readmitEvery: number;
  readonly failureQuarantineS: number;
}

/** The monitor's clock. Seconds. */
export interface ControllerConfig {
  readonly monitorIntervalS: number;
}

/** A whole fleet, checked and frozen to the depth. */
export interface FleetConfig {
  readonly model: string;
  readonly engines: readonly EngineConfig[];
  readonly slo: SloConfig | null;
  readonly serving: ServingConfig;
  readonly engine: EngineSectionConfig;
  readonly recovery: RecoveryConfig;
  readonly controller: ControllerConfig;
  /** Paths of what the file holds and the library does not act on, for one warning. */
  readonly ignored: readonly string[];
}
