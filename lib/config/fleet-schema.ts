/** The fields of a fleet file (`narwhal.fleet`, version 1): one table for schema, names and defaults. */
import type { ControllerConfig, EngineSectionConfig, RecoveryConfig, ServingConfig } from './fleet-config';

/** One JSON schema node; data only. */
export type SchemaNode = Readonly<Record<string, unknown>>;

/** One field: its key in the file, what it must be, and its value when left out. */
export interface Field<T> {
  readonly key: string;
  readonly schema: SchemaNode;
  readonly fallback: T;
}

/** The fields of a section, by their names in code. */
export type Fields<T> = { readonly [K in keyof T]: Field<T[K]> };

/**
 * Longest duration, in seconds. Node's `setTimeout` takes at most 2^31 - 1 ms and fires at once for
 * more, so that a longer deadline would end every request.
 */
const MAX_SECONDS = 2_147_483;
const MIB = 1024 * 1024;

/** A duration above zero. */
function seconds(key: string, fallback: number): Field<number> {
  return { key, fallback, schema: { type: 'number', exclusiveMinimum: 0, maximum: MAX_SECONDS } };
}

/** A duration that may be zero; what zero means is the field's own matter. */
function secondsOrZero(key: string, fallback: number): Field<number> {
  return { key, fallback, schema: { type: 'number', minimum: 0, maximum: MAX_SECONDS } };
}

function count(key: string, fallback: number, minimum = 1): Field<number> {
  return { key, fallback, schema: { type: 'integer', minimum, maximum: Number.MAX_SAFE_INTEGER } };
}

function amount(key: string, fallback: number): Field<number> {
  return { key, fallback, schema: { type: 'number', minimum: 0 } };
}

function word<T extends string>(key: string, fallback: T, words: readonly T[]): Field<T> {
  return { key, fallback, schema: { enum: words } };
}

/** Section `serving`. */
export const SERVING: Fields<ServingConfig> = {
  maxConnections: count('max_connections', 512),
  queueCapacity: count('queue_capacity', 0, 0),
  queueTimeoutS: secondsOrZero('queue_timeout_s', 0),
  maxRequestBytes: count('max_request_bytes', 4 * MIB),
  maxResponseBytes: count('max_response_bytes', 16 * MIB),
  requestTimeoutS: seconds('request_timeout_s', 600),
  prefillTimeoutS: seconds('prefill_timeout_s', 120),
  maxAttempts: count('max_attempts', 2),
  retryBaseS: secondsOrZero('retry_base_s', 0.1),
  retryCapS: seconds('retry_cap_s', 1),
  retryBudget: amount('retry_budget', 10),
  retryReplenish: amount('retry_replenish', 0.1),
  admission: word('admission', 'open', ['open', 'predictive', 'shadow']),
  admissionMargin: amount('admission_margin', 0),
  heartbeatS: secondsOrZero('heartbeat_s', 0),
};

/** Section `engine`, without the key, whose value is not in the file. */
export const ENGINE: Fields<Omit<EngineSectionConfig, 'apiKey'>> = {
  dialect: word('dialect', 'vllm', ['vllm']),
  connector: word('connector', 'nixl', ['nixl']),
  firstTokenTimeoutS: secondsOrZero('first_token_timeout_s', 30),
  decodeReadTimeoutS: secondsOrZero('decode_read_timeout_s', 60),
  connectTimeoutS: seconds('connect_timeout_s', 10),
  poolTimeoutS: seconds('pool_timeout_s', 5),
  healthTimeoutS: seconds('health_timeout_s', 5),
  keepaliveS: seconds('keepalive_s', 4),
  tokenize: { key: 'tokenize', fallback: false, schema: { type: 'boolean' } },
  tokenizeTimeoutS: seconds('tokenize_timeout_s', 2),
  charsPerToken: { key: 'chars_per_token', fallback: 3.8, schema: { type: 'number', exclusiveMinimum: 0 } },
  kvLeaseS: seconds('kv_lease_s', 30),
};

/** Section `recovery`. */
export const RECOVERY: Fields<RecoveryConfig> = {
  ejectAfter: count('eject_after', 3),
  livenessEvery: count('liveness_every', 10),
  livenessMisses: count('liveness_misses', 2),
  readmitEvery: count('readmit_every', 10),
  failureQuarantineS: secondsOrZero('failure_quarantine_s', 0),
};

/** Section `controller`. */
export const CONTROLLER: Fields<ControllerConfig> = {
  monitorIntervalS: seconds('monitor_interval_s', 1),
};

/** Sections of the schema that this library accepts and does not act on. */
export const IGNORED_SECTIONS: readonly string[] = ['hardware', 'engine_contract', 'profiles'];

const TARGET: SchemaNode = {
  type: ['number', 'null'],
  exclusiveMinimum: 0,
  maximum: MAX_SECONDS,
};

/** An object with these keys and notes only; a note is any key that starts with `_`. */
function closed(properties: Record<string, SchemaNode>, more: SchemaNode = {}): SchemaNode {
  return {
    type: 'object',
    properties,
    patternProperties: { '^_': true },
    additionalProperties: false,
    ...more,
  };
}

function section(fields: Record<string, Field<unknown>>, more: Record<string, SchemaNode> = {}): SchemaNode {
  const properties = Object.values(fields).map(({ key, schema }): [string, SchemaNode] => [key, schema]);
  return closed({ ...Object.fromEntries(properties), ...more });
}

const ENGINE_ITEM = closed(
  {
    // Printable ASCII: the name goes into headers, metric labels and URLs.
    iid: { type: 'string', pattern: '^[!-~]([ -~]{0,62}[!-~])?$' },
    url: { type: 'string' },
    role: { enum: ['prefill', 'decode', 'both'] },
    pin: { type: 'boolean' },
  },
  { required: ['iid', 'url'] },
);

/** The JSON schema of a fleet file. What a schema cannot say is checked in `fleet-checks.ts`. */
export const FLEET_SCHEMA: SchemaNode = closed(
  {
    schema: { const: 'narwhal.fleet' },
    schema_version: { const: 1 },
    model: { type: 'string', minLength: 1 },
    engines: { type: 'array', minItems: 1, items: ENGINE_ITEM },
    slo: closed({ ttft_s: TARGET, tpot_s: TARGET }, { type: ['object', 'null'] }),
    serving: section({ ...SERVING }),
    engine: section({ ...ENGINE }, { engine_api_key_env: { type: 'string' } }),
    recovery: section({ ...RECOVERY }),
    controller: section({ ...CONTROLLER }),
    ...Object.fromEntries(IGNORED_SECTIONS.map((name) => [name, {}])),
  },
  { required: ['model', 'engines'] },
);
