import fc from 'fast-check';
import type { EngineConfig, EngineRole } from '../../lib/config/fleet-config';
import { Engine } from '../../lib/engines/engine';
import { leastLoaded } from '../../lib/engines/placement';

function engine(
  iid: string,
  some: Partial<Pick<Engine, 'prefillTokens' | 'decodes' | 'coolUntil'>> = {},
): Engine {
  const role: EngineRole = 'decode';
  const config: EngineConfig = { iid, url: '', origin: '', prefix: '', role, pin: false };
  return Object.assign(new Engine(config), some);
}

describe('the engine for a leg', () => {
  test('is the one with the least requests in decode', () => {
    const engines = [engine('a', { decodes: 2 }), engine('b', { decodes: 1 }), engine('c', { decodes: 3 })];
    expect(leastLoaded(engines, 'decode', 0, 0)?.iid).toBe('b');
    expect(leastLoaded(engines, 'single', 5, 0)?.iid).toBe('b');
  });

  test('is, for prefill, the one with the least tokens that wait', () => {
    const engines = [
      engine('a', { prefillTokens: 10, decodes: 0 }),
      engine('b', { prefillTokens: 9, decodes: 9 }),
    ];
    expect(leastLoaded(engines, 'prefill', 0, 0)?.iid).toBe('b');
  });

  test('goes round where loads are equal', () => {
    const engines = [engine('a'), engine('b'), engine('c')];
    const picks = [0, 1, 2, 3].map((turn) => leastLoaded(engines, 'decode', turn, 0)?.iid);
    expect(picks).toEqual(['a', 'b', 'c', 'a']);
  });

  test('is not the producer of the handoff, unless there is no other', () => {
    const [a, b] = [engine('a'), engine('b', { decodes: 5 })];
    expect(leastLoaded([a, b], 'decode', 0, 0, a)).toBe(b);
    expect(leastLoaded([a], 'decode', 0, 0, a)).toBe(a);
  });

  test('is not one that asked for time, until that is over or there is no other', () => {
    const [a, b] = [engine('a', { coolUntil: 100 }), engine('b', { decodes: 5 })];
    expect(leastLoaded([a, b], 'decode', 0, 99)).toBe(b);
    expect(leastLoaded([a, b], 'decode', 0, 100)).toBe(a);
    expect(leastLoaded([a], 'decode', 0, 0)).toBe(a);
  });

  test('is none where there is none', () => {
    expect(leastLoaded([], 'decode', 0, 0)).toBeNull();
  });

  test('never has more load than another candidate, whatever the turn', () => {
    const loads = fc.array(fc.nat(5), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(loads, fc.nat(), (counts, turn) => {
        const engines = counts.map((decodes, at) => engine(`e${at}`, { decodes }));
        expect(leastLoaded(engines, 'decode', turn, 0)?.decodes).toBe(Math.min(...counts));
      }),
    );
  });
});
