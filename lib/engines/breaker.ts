/**
 * When an engine is taken out of placement, and when it may come back: a pure state machine.
 *
 * It knows nothing of timers, sockets or other engines; times come in as monotonic milliseconds.
 */

/** Classes of evidence against an engine. */
export type FailureClass =
  | 'connection'
  | 'timeout'
  | 'overload'
  | 'inference_status'
  | 'kv_handoff'
  | 'stream'
  | 'liveness';

/** What was seen of an engine. */
export type Evidence =
  | { readonly kind: 'success' }
  /** `refused`: nothing listens there, which is certain, not a suspicion. */
  | { readonly kind: 'failure'; readonly failure: FailureClass; readonly refused: boolean }
  | { readonly kind: 'alive' }
  | { readonly kind: 'miss'; readonly refused: boolean };

/** Failures in a row, by class. */
export type Streaks = Readonly<Partial<Record<FailureClass, number>>>;

/** The state of one engine. Each state holds only what belongs to it. */
export type BreakerState =
  | { readonly kind: 'trusted'; readonly streaks: Streaks }
  /** Back since a moment: the next failure ejects it again, the next success makes it trusted. */
  | { readonly kind: 'probation'; readonly streaks: Streaks }
  | {
      readonly kind: 'ejected';
      readonly since: number;
      readonly suspicion: FailureClass;
      readonly refused: boolean;
    };

/** Thresholds; `recovery.*` of the fleet file. */
export interface BreakerRules {
  readonly ejectAfter: number;
  readonly livenessMisses: number;
  readonly failureQuarantineS: number;
}

export const TRUSTED: BreakerState = Object.freeze({ kind: 'trusted', streaks: {} });

/**
 * The state after one piece of evidence.
 *
 * Overload never ejects: it is the engine's back-pressure. Evidence that arrives while an engine is
 * ejected (a stream that was still running) changes nothing: only `readmit` brings it back.
 */
export function afterEvidence(
  state: BreakerState,
  evidence: Evidence,
  rules: BreakerRules,
  now: number,
): BreakerState {
  if (state.kind === 'ejected') return state;
  switch (evidence.kind) {
    case 'success':
      return TRUSTED;
    case 'alive':
      return withStreak(state, 'liveness', 0);
    case 'miss':
      return count(state, 'liveness', evidence.refused, rules.livenessMisses, now);
    case 'failure':
      if (evidence.failure === 'overload') return state;
      return count(state, evidence.failure, evidence.refused, rules.ejectAfter, now);
  }
}

/** Whether the time of an ejected engine's quarantine is over. */
export function mayReturn(state: BreakerState, rules: BreakerRules, now: number): boolean {
  return state.kind === 'ejected' && now - state.since >= rules.failureQuarantineS * 1000;
}

/** A probe of an ejected engine was good. */
export function readmit(state: BreakerState): BreakerState {
  return state.kind === 'ejected' ? { kind: 'probation', streaks: {} } : state;
}

function count(
  state: Exclude<BreakerState, { kind: 'ejected' }>,
  failure: FailureClass,
  refused: boolean,
  limit: number,
  now: number,
): BreakerState {
  const streak = (state.streaks[failure] ?? 0) + 1;
  const allowed = state.kind === 'probation' && failure !== 'liveness' ? 1 : limit;
  if (streak >= allowed) return { kind: 'ejected', since: now, suspicion: failure, refused };
  return withStreak(state, failure, streak);
}

function withStreak(
  state: Exclude<BreakerState, { kind: 'ejected' }>,
  failure: FailureClass,
  streak: number,
): BreakerState {
  if ((state.streaks[failure] ?? 0) === streak) return state;
  return { ...state, streaks: { ...state.streaks, [failure]: streak } };
}
