/** Which engine takes a leg: pure choice of the least loaded. */
import type { Engine } from './engine';

/** What a leg does in an engine. */
export type LegKind = 'prefill' | 'decode' | 'single';

/**
 * Picks the engine with the least outstanding work.
 *
 * @param candidates engines of the right role that are in placement.
 * @param kind prefill engines are compared by waiting prompt tokens, others by requests in decode.
 * @param turn a counter that moves by one for each pick, so that ties go round.
 * @param now monotonic ms; an engine that asked for time (429, 503) is left alone until then, unless
 *   there is no other.
 * @param avoid engine that is taken only when there is no other: the producer of the handoff.
 * @returns null when there is no candidate.
 */
export function leastLoaded(
  candidates: readonly Engine[],
  kind: LegKind,
  turn: number,
  now: number,
  avoid: Engine | null = null,
): Engine | null {
  if (candidates.length === 1) return candidates[0]!;
  const rested = prefer(candidates, (engine) => engine.coolUntil <= now);
  const wanted = prefer(rested, (engine) => engine !== avoid);
  let best: Engine | null = null;
  let bestLoad = Number.POSITIVE_INFINITY;
  for (let i = 0; i < wanted.length; i++) {
    const engine = wanted[(i + turn) % wanted.length]!;
    const load = loadOf(engine, kind);
    if (load < bestLoad) {
      best = engine;
      bestLoad = load;
    }
  }
  return best;
}

function loadOf(engine: Engine, kind: LegKind): number {
  if (kind === 'prefill') return engine.prefillTokens;
  return engine.decodes;
}

function prefer(engines: readonly Engine[], wanted: (engine: Engine) => boolean): readonly Engine[] {
  if (engines.every(wanted)) return engines;
  const some = engines.filter(wanted);
  return some.length > 0 ? some : engines;
}
