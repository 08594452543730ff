import fc from 'fast-check';
import type { EngineConfig } from '../../lib/config/fleet-config';
import { Engine } from '../../lib/engines/engine';
import { type Handoff, HandoffLedger } from '../../lib/engines/ledger';

const producer = (iid: string): Engine => {
  const config: EngineConfig = { iid, url: '', origin: '', prefix: '', role: 'prefill', pin: false };
  return new Engine(config);
};
const TEXT = Buffer.from('{}');

describe('the ledger of handoffs', () => {
  test('holds a handoff for its producer until it is settled', () => {
    const [a, b] = [producer('a'), producer('b')];
    const ledger = new HandoffLedger([a, b]);
    const handoff = ledger.take(a, TEXT);
    expect(handoff.state).toBe('held');
    expect(a.handoffs.counts()).toEqual({ produced: 1, held: 1, claimed: 0, reclaimed: 0, leased: 0 });
    expect(b.handoffs.counts().produced).toBe(0);
    handoff.settle('claimed');
    expect(handoff.state).toBe('claimed');
    expect(ledger.counts()).toEqual({ produced: 1, held: 0, claimed: 1, reclaimed: 0, leased: 0 });
  });

  test('takes the first word on a handoff, no later one', () => {
    const ledger = new HandoffLedger([producer('a')]);
    const a = producer('a');
    const own = new HandoffLedger([a]);
    const handoff = own.take(a, TEXT);
    handoff.settle('leased');
    handoff.settle('claimed');
    handoff.settle('reclaimed');
    expect(handoff.state).toBe('leased');
    expect(own.counts()).toEqual({ produced: 1, held: 0, claimed: 0, reclaimed: 0, leased: 1 });
    expect(ledger.counts().produced).toBe(0);
  });

  test('balances at every moment: produced = held + claimed + reclaimed + leased', () => {
    const step = fc.record({
      engine: fc.nat(2),
      settles: fc.option(fc.nat(), { nil: null }),
      end: fc.constantFrom('claimed' as const, 'reclaimed' as const, 'leased' as const),
    });
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        const engines = ['a', 'b', 'c'].map(producer);
        const ledger = new HandoffLedger(engines);
        const all: Handoff[] = [];
        for (const { engine, settles, end } of steps) {
          if (settles === null || all.length === 0) all.push(ledger.take(engines[engine]!, TEXT));
          else all[settles % all.length]!.settle(end);
          const { produced, held, claimed, reclaimed, leased } = ledger.counts();
          expect(produced).toBe(all.length);
          expect(held).toBe(all.filter(({ state }) => state === 'held').length);
          expect(produced).toBe(held + claimed + reclaimed + leased);
        }
      }),
    );
  });
});
