import { toHaveNoBreaches, toHaveNoOpenHandoffs } from '../../lib/testing';

type Ledgered = Parameters<typeof toHaveNoOpenHandoffs>[0];

describe('the words of a matcher', () => {
  it('name each breach, or say that there was none', () => {
    const broken = toHaveNoBreaches({ breaches: ['one', 'two'] });
    expect([broken.pass, broken.message()]).toEqual([
      false,
      'expected no breach of the wire, but there were 2:\n  one\n  two',
    ]);
    const clean = toHaveNoBreaches({ breaches: [] });
    expect([clean.pass, clean.message()]).toEqual([true, 'expected the wire to be breached, but it was not']);
  });

  it('name each open handoff, or say that there is none', () => {
    const ledger = (open: object[]): Ledgered => ({ ledger: { open } }) as unknown as Ledgered;
    const held = toHaveNoOpenHandoffs(ledger([{ iid: 'p0', requestId: 'r-a1-prefill' }]));
    expect([held.pass, held.message()]).toEqual([
      false,
      'expected no open handoff, but there are 1:\n  on p0, made by r-a1-prefill',
    ]);
    const none = toHaveNoOpenHandoffs(ledger([]));
    expect([none.pass, none.message()]).toEqual([true, 'expected open handoffs, but there are none']);
  });
});
