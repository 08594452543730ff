import fc from 'fast-check';
import { joined, lengthOf, textBetween, visitRange } from '../../lib/json/chunks';

const chunksOfBytes = fc.array(
  fc.uint8Array({ maxLength: 9 }).map((bytes) => Buffer.from(bytes)),
  {
    maxLength: 6,
  },
);

describe('chunks', () => {
  it('give every range as the joined text would', () => {
    fc.assert(
      fc.property(chunksOfBytes, fc.nat({ max: 60 }), fc.nat({ max: 60 }), (chunks, a, b) => {
        const whole = Buffer.concat(chunks);
        expect(lengthOf(chunks)).toBe(whole.length);
        const [from, to] = [Math.min(a, b, whole.length), Math.min(Math.max(a, b), whole.length)];
        expect(textBetween(chunks, from, to).equals(whole.subarray(from, to))).toBe(true);
        visitRange(chunks, from, to, (chunk, start, end) => {
          expect(chunks).toContain(chunk);
          expect(start).toBeLessThan(end);
        });
      }),
    );
  });

  it('are not copied where one holds what is asked for', () => {
    const [a, b] = [Buffer.from('abc'), Buffer.from('defg')];
    expect(joined([a])).toBe(a);
    expect(textBetween([a, b], 4, 6).buffer).toBe(b.buffer);
    expect(textBetween([a, b], 4, 6).toString()).toBe('ef');
    expect(textBetween([a, b], 2, 4).toString()).toBe('cd');
  });
});
