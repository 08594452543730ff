import fc from 'fast-check';
import {
  afterEvidence,
  type BreakerRules,
  type BreakerState,
  type Evidence,
  type FailureClass,
  mayReturn,
  readmit,
  TRUSTED,
} from '../../lib/engines/breaker';

const RULES: BreakerRules = { ejectAfter: 3, livenessMisses: 2, failureQuarantineS: 5 };
const CLASSES: readonly FailureClass[] = [
  'connection',
  'timeout',
  'inference_status',
  'kv_handoff',
  'stream',
];

const success: Evidence = { kind: 'success' };
const alive: Evidence = { kind: 'alive' };
const miss: Evidence = { kind: 'miss', refused: false };
const failure = (name: FailureClass, refused = false): Evidence => ({
  kind: 'failure',
  failure: name,
  refused,
});

function seen(evidence: readonly Evidence[], from: BreakerState = TRUSTED, now = 0): BreakerState {
  return evidence.reduce((state, one) => afterEvidence(state, one, RULES, now), from);
}

const anyFailure = fc
  .constantFrom<FailureClass>(...CLASSES, 'overload')
  .chain((name) => fc.boolean().map((refused) => failure(name, refused)));
const anyMiss = fc.boolean().map((refused): Evidence => ({ kind: 'miss', refused }));
const anyEvidence = fc.oneof(fc.constant(success), fc.constant(alive), anyFailure, anyMiss);

describe('an engine that is trusted', () => {
  test.each(CLASSES)('is ejected at the third failure of class %s in a row', (name) => {
    expect(seen([failure(name), failure(name)]).kind).toBe('trusted');
    expect(seen([failure(name), failure(name), failure(name)], TRUSTED, 7)).toEqual({
      kind: 'ejected',
      since: 7,
      suspicion: name,
      refused: false,
    });
  });

  test('counts each class by itself', () => {
    const mixed = CLASSES.flatMap((name) => [failure(name), failure(name)]);
    expect(seen(mixed).kind).toBe('trusted');
  });

  test('starts anew after a good leg', () => {
    const worn = [failure('stream'), failure('stream'), success, failure('stream'), failure('stream')];
    expect(seen(worn).kind).toBe('trusted');
  });

  test('is not trusted again for an answer of /health: only misses start anew', () => {
    expect(seen([failure('timeout'), failure('timeout'), alive, failure('timeout')]).kind).toBe('ejected');
    expect(seen([miss, alive, miss]).kind).toBe('trusted');
    expect(seen([miss, miss])).toMatchObject({ kind: 'ejected', suspicion: 'liveness' });
  });

  test('is ejected as refused only where the last word was a refusal', () => {
    const refusals = [failure('connection', true), failure('connection', true)];
    expect(seen([...refusals, failure('connection', true)])).toMatchObject({ refused: true });
    expect(seen([...refusals, failure('connection', false)])).toMatchObject({ refused: false });
  });

  test('is never ejected for back-pressure', () => {
    expect(seen(Array.from({ length: 50 }, () => failure('overload')))).toEqual(TRUSTED);
  });
});

describe('an engine on probation', () => {
  const back = readmit(seen([failure('stream'), failure('stream'), failure('stream')]));

  test.each(CLASSES)('is ejected by one failure of class %s', (name) => {
    expect(seen([failure(name)], back)).toMatchObject({ kind: 'ejected', suspicion: name });
  });

  test('is trusted after one good leg', () => {
    expect(seen([success], back)).toEqual(TRUSTED);
  });

  test('still has its misses, its overloads and its answers of /health', () => {
    expect(seen([miss, alive, failure('overload')], back).kind).toBe('probation');
    expect(seen([miss, miss], back).kind).toBe('ejected');
  });
});

describe('an ejected engine', () => {
  const out = seen([miss, miss], TRUSTED, 1000);

  test('may return when its quarantine is over, not before', () => {
    expect(mayReturn(out, RULES, 5999)).toBe(false);
    expect(mayReturn(out, RULES, 6000)).toBe(true);
    expect(mayReturn(TRUSTED, RULES, 1e9)).toBe(false);
  });

  test('changes for nothing but readmission', () => {
    fc.assert(
      fc.property(fc.array(anyEvidence), (evidence) => {
        expect(seen(evidence, out, 9e9)).toBe(out);
        expect(readmit(out).kind).toBe('probation');
      }),
    );
  });
});

describe('whatever is seen', () => {
  test('no evidence without failures ejects', () => {
    const harmless = fc.constantFrom(success, alive, failure('overload'), failure('overload', true));
    fc.assert(
      fc.property(fc.array(harmless), (evidence) => {
        expect(seen(evidence).kind).toBe('trusted');
      }),
    );
  });

  test('an ejection has as many failures of its class in a row as the rules ask for', () => {
    fc.assert(
      fc.property(fc.array(anyEvidence, { maxLength: 60 }), (evidence) => {
        let state: BreakerState = TRUSTED;
        const streaks = new Map<FailureClass, number>();
        for (const one of evidence) {
          if (one.kind === 'success') streaks.clear();
          if (one.kind === 'alive') streaks.delete('liveness');
          const name = one.kind === 'miss' ? 'liveness' : one.kind === 'failure' ? one.failure : null;
          if (name !== null && name !== 'overload') streaks.set(name, (streaks.get(name) ?? 0) + 1);
          state = afterEvidence(state, one, RULES, 0);
          const worst = [...streaks].some(
            ([each, count]) => count >= (each === 'liveness' ? RULES.livenessMisses : RULES.ejectAfter),
          );
          expect(state.kind === 'ejected').toBe(worst);
          if (worst) return;
        }
      }),
    );
  });

  test('readmission leaves engines alone that are not ejected', () => {
    fc.assert(
      fc.property(fc.array(anyEvidence), (evidence) => {
        const state = seen(evidence);
        if (state.kind !== 'ejected') expect(readmit(state)).toBe(state);
      }),
    );
  });

  test('no state is changed in place', () => {
    const state = seen([failure('stream')]);
    const copy = structuredClone(state);
    seen([failure('stream'), success, miss], state);
    expect(state).toEqual(copy);
    expect(TRUSTED).toEqual({ kind: 'trusted', streaks: {} });
  });
});
