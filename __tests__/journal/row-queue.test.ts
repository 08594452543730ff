import fc from 'fast-check';
import { RowQueue } from '../../lib/journal/row-queue';

describe('RowQueue', () => {
  it('takes whole rows that fit, in bytes of UTF-8', () => {
    const queue = new RowQueue();
    for (const row of ['abc', '\u00e9\u00e9', 'd']) queue.push(row);
    expect(queue.take(8, false, 100)).toEqual(['abc']);
    expect(queue.take(6, false, 100)).toEqual(['\u00e9\u00e9']);
    expect(queue.take(2, false, 100)).toEqual(['d']);
    expect(queue.length).toBe(0);
    expect(queue.size).toBe(0);
  });

  it('takes a row that does not fit only where it must', () => {
    const queue = new RowQueue();
    queue.push('a long row');
    queue.push('b');
    expect(queue.take(3, false, 100)).toEqual([]);
    expect(queue.take(3, true, 100)).toEqual(['a long row']);
    expect(queue.take(3, true, 100)).toEqual(['b']);
  });

  it('takes no further row once it has enough, also where room has no end', () => {
    const queue = new RowQueue();
    for (const row of ['abcd', 'efgh', 'i']) queue.push(row);
    expect(queue.take(Number.POSITIVE_INFINITY, false, 6)).toEqual(['abcd', 'efgh']);
    expect(queue.take(Number.POSITIVE_INFINITY, false, 6)).toEqual(['i']);
  });

  it('keeps a first row that stands on file in part, and the newest, whatever is dropped', () => {
    const queue = new RowQueue();
    for (const row of ['cut', 'x', 'y', 'new']) queue.push(row);
    expect(queue.dropOldest(0, true)).toBe(2);
    expect(queue.take(100, false, 100)).toEqual(['cut', 'new']);
    for (const row of ['x', 'y', 'new']) queue.push(row);
    expect(queue.dropOldest(0, false)).toBe(2);
    expect(queue.take(100, false, 100)).toEqual(['new']);
  });

  it('behaves as a plain list under any sequence of calls', () => {
    const call = fc.oneof(
      { weight: 6, arbitrary: fc.record({ kind: fc.constant('push' as const), n: fc.nat(20) }) },
      {
        weight: 2,
        arbitrary: fc.record({ kind: fc.constantFrom('take', 'putBack', 'drop', 'dropKeep'), n: fc.nat(60) }),
      },
    );
    fc.assert(
      fc.property(fc.array(call, { maxLength: 200 }), (calls) => {
        const queue = new RowQueue();
        let plain: string[] = [];
        let taken: string[] = [];
        let serial = 0;
        for (const { kind, n } of calls) {
          if (kind === 'push') {
            const row = `${serial++}`.padEnd(n, '.');
            queue.push(row);
            plain.push(row);
          } else if (kind === 'take') {
            taken = queue.take(n, n % 2 === 0, 1000);
            expect(plain.slice(0, taken.length)).toEqual(taken);
            plain = plain.slice(taken.length);
          } else if (kind === 'putBack') {
            queue.putBack(taken);
            plain = [...taken, ...plain];
            taken = [];
          } else {
            const keep = kind === 'dropKeep';
            const dropped = queue.dropOldest(n, keep);
            plain.splice(keep ? 1 : 0, dropped);
          }
          expect(queue.length).toBe(plain.length);
          expect(queue.size).toBe(plain.reduce((sum, one) => sum + one.length + 1, 0));
        }
        expect(queue.take(1e9, false, 1e9)).toEqual(plain);
      }),
    );
  });

  it('counts and lets go of everything when cleared', () => {
    const queue = new RowQueue();
    for (let n = 0; n < 5000; n++) queue.push(`${n}`);
    queue.take(10_000, false, 1e9);
    const left = queue.length;
    expect(queue.clear()).toBe(left);
    expect(queue.length + queue.size).toBe(0);
  });
});
