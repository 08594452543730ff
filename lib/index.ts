/** The public names of express-narwhal, one by one. */

export type { Draw, DrawAnswer, LimitName, LimitStore } from './admission/limits';
export {
  type IoredisLike,
  type NodeRedisLike,
  type RedisLimitStoreOptions,
  redisLimitStore,
} from './admission/redis-store';
export { type Identity, type NarwhalContext, narwhalContext } from './context';
export { createFleet, type Fleet, type FleetOptions, loadFleet } from './engines/fleet';
export {
  ConfigError,
  type ErrorEnvelope,
  isNarwhalError,
  NarwhalError,
} from './errors';
export type { MetricsRegistry } from './inspection/metrics';
export {
  createJournal,
  type Journal,
  type JournalFileOptions,
  type JournalOptions,
  type JournalSink,
} from './journal/journal';
export type { JournalRow } from './journal/row';
export type { Logger } from './logger';
export { admissionGate } from './middlewares/admission-gate';
export type { AdmissionGateOptions } from './middlewares/admission-options';
export type { ApiKeys } from './middlewares/api-keys';
export { type Authenticate, type AuthStripOptions, authStrip } from './middlewares/auth-strip';
export { type DispatchEngineOptions, dispatchEngine } from './middlewares/dispatch-engine';
export { type NarwhalErrorHandler, narwhalErrorHandler } from './middlewares/error-handler';
export type { NarwhalHandler, OnError, RefusalOptions } from './middlewares/handler';
export { type JournalRecordOptions, journalRecord } from './middlewares/journal-record';
export { type ModelGuardOptions, modelGuard } from './middlewares/model-guard';
export { type OutputGuardOptions, outputGuard } from './middlewares/output-guard';
export { type SamplingGuardOptions, samplingGuard } from './middlewares/sampling-guard';
export { type ValidateCompletionOptions, validateCompletion } from './middlewares/validate-completion';
export type { Terminal } from './outcomes';
export { type NarwhalRouter, narwhalRouter } from './router';
export type { NarwhalRouterOptions } from './router-options';
export { createServer, type ExpressApp } from './server';
