/** The public names of express-narwhal, one by one. */

export type { Draw, DrawAnswer, LimitName, LimitStore } from './admission/limits';
export {
  type IoredisLike,
  type NodeRedisLike,
  type RedisLimitStoreOptions,
  redisLimitStore,
} from './admission/redis-store';
export type { EngineRole } from './config/fleet-config';
export { type Identity, type NarwhalContext, narwhalContext } from './context';
export type { FailureClass } from './engines/breaker';
export type { CountedClass } from './engines/engine';
export { createFleet, type Fleet, type FleetOptions, loadFleet } from './engines/fleet';
export type { LedgerCounts } from './engines/handoff-tally';
export {
  ConfigError,
  type ErrorDetails,
  type ErrorEnvelope,
  isNarwhalError,
  NarwhalError,
} from './errors';
export type { MetricsRegistry } from './inspection/metrics';
export type { InspectionOptions, InspectionPage } from './inspection/options';
export type { EngineState, RouterState } from './inspection/state';
export {
  createJournal,
  type Journal,
  type JournalFileOptions,
  type JournalOptions,
  type JournalSink,
  type WinstonLike,
} from './journal/journal';
export type { JournalRow } from './journal/row';
export type { Logger } from './logger';
export { admissionGate } from './middlewares/admission-gate';
export type { AdmissionGateOptions } from './middlewares/admission-options';
export type { ApiKeys } from './middlewares/api-keys';
export { type Authenticate, type AuthStripOptions, authStrip } from './middlewares/auth-strip';
export type { BodyGuardOptions } from './middlewares/body-guard';
export { type DispatchEngineOptions, dispatchEngine } from './middlewares/dispatch-engine';
export { type NarwhalErrorHandler, narwhalErrorHandler } from './middlewares/error-handler';
export type { NarwhalHandler, OnError, RefusalOptions } from './middlewares/handler';
export { type JournalRecordOptions, journalRecord } from './middlewares/journal-record';
export { type ModelGuardOptions, modelGuard } from './middlewares/model-guard';
export { type OutputGuardOptions, outputGuard } from './middlewares/output-guard';
export { type SamplingGuardOptions, samplingGuard } from './middlewares/sampling-guard';
export { type ValidateCompletionOptions, validateCompletion } from './middlewares/validate-completion';
export type { Leg, OutcomeName, Terminal } from './outcomes';
export type { Route } from './request/schema';
export { type NarwhalRouter, narwhalRouter } from './router';
export type { NarwhalRouterOptions } from './router-options';
export { createServer, type ExpressApp } from './server';
export type { AttemptFailure, HandoffEnd, Phase } from './serving/record';
