import { type SeatAnswer, type SeatLimits, Seats } from '../../lib/admission/seats';

/** One that asks for a seat, and what it was told. */
function enter(seats: Seats): { answers: SeatAnswer[]; leave: () => void; release: () => void } {
  const answers: SeatAnswer[] = [];
  const leave = seats.enter((answer) => answers.push(answer));
  return {
    answers,
    leave,
    release() {
      for (const answer of answers) if (answer.kind === 'seated') answer.release();
    },
  };
}

const limits = (some: Partial<SeatLimits> = {}): SeatLimits => ({
  seats: 1,
  queueCapacity: 0,
  queueTimeoutS: 0,
  ...some,
});
const kinds = ({ answers }: { answers: SeatAnswer[] }): string[] => answers.map(({ kind }) => kind);

describe('seats', () => {
  test('are taken until there is none, then refused', () => {
    const seats = new Seats(limits({ seats: 2 }));
    expect([enter(seats), enter(seats), enter(seats)].map(kinds)).toEqual([['seated'], ['seated'], ['full']]);
    expect(seats.taken).toBe(2);
  });

  test('are freed once, however often they are given back', () => {
    const seats = new Seats(limits({ seats: 2 }));
    const [one] = [enter(seats), enter(seats)];
    one.release();
    one.release();
    one.release();
    expect(seats.taken).toBe(1);
    expect(kinds(enter(seats))).toEqual(['seated']);
    expect(kinds(enter(seats))).toEqual(['full']);
  });

  test('go to those who wait, first come, first served', () => {
    const seats = new Seats(limits({ queueCapacity: 2, queueTimeoutS: 60 }));
    const [first, second, third, fourth] = [enter(seats), enter(seats), enter(seats), enter(seats)];
    expect([second, third, fourth].map(kinds)).toEqual([[], [], ['full']]);
    expect(seats.waiting).toBe(2);
    first.release();
    expect([second, third].map(kinds)).toEqual([['seated'], []]);
    second.release();
    expect(kinds(third)).toEqual(['seated']);
    third.release();
    expect([seats.taken, seats.waiting]).toEqual([0, 0]);
  });

  test('come to one whose tenant was new while hundreds of others hold one', () => {
    const seats = new Seats(limits({ seats: 256, queueCapacity: 1, queueTimeoutS: 60 }));
    const ask = (name: string, weight = 1) => {
      const answers: SeatAnswer[] = [];
      const leave = seats.enter((answer) => answers.push(answer), { name, weight });
      return { answers, leave };
    };
    const holders = Array.from({ length: 256 }, (_, at) => ask(`tenant-${at}`));
    const crowder = ask('crowder', 0.1);
    const newcomer = ask('newcomer');
    expect([crowder, newcomer].map(kinds)).toEqual([['full'], []]);
    const [held] = holders[0]!.answers;
    if (held?.kind === 'seated') held.release();
    expect(kinds(newcomer)).toEqual(['seated']);
    expect([seats.taken, seats.waiting]).toEqual([256, 0]);
  });

  test('are not kept for one that left the queue', () => {
    const seats = new Seats(limits({ queueCapacity: 2, queueTimeoutS: 60 }));
    const [first, second, third] = [enter(seats), enter(seats), enter(seats)];
    second.leave();
    second.leave();
    expect(kinds(second)).toEqual(['left']);
    first.release();
    expect(kinds(second)).toEqual(['left']);
    expect(kinds(third)).toEqual(['seated']);
    // Leaving after the answer means nothing: the seat is given back by its release.
    third.leave();
    expect(seats.taken).toBe(1);
    third.release();
    expect(seats.taken).toBe(0);
  });

  test('are waited for no longer than the queue allows', async () => {
    const seats = new Seats(limits({ queueCapacity: 2, queueTimeoutS: 0.02 }));
    const first = enter(seats);
    const answer = await new Promise<SeatAnswer>((resolve) => void seats.enter(resolve));
    expect(answer.kind).toBe('expired');
    expect(seats.waiting).toBe(0);
    first.release();
    expect(seats.taken).toBe(0);
  });
});
