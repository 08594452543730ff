/** One engine in the words of the fleet page. */
import type { Engine } from '../../engines/engine';
import type { EngineView } from './frame';

/**
 * @param quarantineS seconds that an ejected engine is left alone.
 * @param now monotonic ms.
 */
export function engineView(engine: Engine, quarantineS: number, now: number): EngineView {
  const { breaker, failures } = engine;
  const ejected = breaker.kind === 'ejected' ? breaker : null;
  const leftS = ejected === null ? 0 : quarantineS - (now - ejected.since) / 1000;
  return {
    iid: engine.iid,
    role: engine.config.role,
    state: stateOf(engine, now),
    suspicion: ejected?.suspicion ?? null,
    quarantine_s: leftS > 0 ? Math.ceil(leftS) : null,
    prefills: engine.prefills,
    prefill_tokens: engine.prefillTokens,
    decodes: engine.decodes,
    handoffs_held: engine.handoffs.counts().held,
    failures: Object.values(failures).reduce((sum, count) => sum + count, 0),
    ejections: engine.ejections,
  };
}

function stateOf(engine: Engine, now: number): EngineView['state'] {
  switch (engine.outOfPlacement) {
    case 'drained':
      return engine.prefills + engine.decodes > 0 ? 'draining' : 'drained';
    case 'ejected':
      return 'ejected';
    case null:
      if (engine.breaker.kind === 'probation') return 'probation';
      return engine.coolUntil > now ? 'cooling' : 'live';
  }
}
