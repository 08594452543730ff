/** Seats and queue are shared by weight where there is contention, and not kept for anybody who is away. */
import { Door } from '../../lib/admission/door';
import { type SeatAnswer, Seats } from '../../lib/admission/seats';
import type { Share } from '../../lib/admission/shares';

const HEAVY: Share = { name: 'heavy', weight: 3 };
const LIGHT: Share = { name: 'light', weight: 1 };

/** Seats whose holders give them back when the test says so; counts what each tenant was given. */
function hall(seats: number, queueCapacity: number) {
  const held: { name: string; release: () => void }[] = [];
  const granted: Record<string, number> = {};
  const refused: Record<string, number> = {};
  const room = new Seats({ seats, queueCapacity, queueTimeoutS: 60 });
  const enter = (share: Share): (() => void) =>
    room.enter((answer) => {
      const { name } = share;
      if (answer.kind === 'seated') {
        granted[name] = (granted[name] ?? 0) + 1;
        held.push({ name, release: answer.release });
      } else if (answer.kind !== 'left') refused[name] = (refused[name] ?? 0) + 1;
    }, share);
  const held3 = (): Record<string, number> => {
    const counts: Record<string, number> = { heavy: 0, light: 0 };
    for (const { name } of held) counts[name] = (counts[name] ?? 0) + 1;
    return counts;
  };
  return { room, enter, held, granted, refused, holds: held3, serveOne: () => held.shift()!.release() };
}

/** Everybody who still waits or sits leaves, so that no timer is left. */
function empty({ room, held }: ReturnType<typeof hall>): void {
  while (room.taken > 0) held.shift()!.release();
}

describe('seats', () => {
  it.each([1, 2, 3, 4, 8, 40])(
    'of which there are %d are shared 3 to 1 between two tenants, one flooding',
    (seats) => {
      const place = hall(seats, 40);
      // The light one was there first, with everything; the heavy one never has more than a few waiting.
      for (let n = 0; n < seats + 40; n++) place.enter(LIGHT);
      const start = { ...place.granted };
      for (let n = 0; n < 2000; n++) {
        for (let k = 0; k < 4; k++) place.enter(LIGHT);
        place.enter(HEAVY);
        place.enter(HEAVY);
        place.serveOne();
      }
      const heavy = place.granted['heavy'] ?? 0;
      const light = (place.granted['light'] ?? 0) - (start['light'] ?? 0);
      expect(heavy + light).toBe(2000);
      expect(heavy / light).toBeGreaterThan(2.7);
      expect(heavy / light).toBeLessThan(3.3);
      empty(place);
    },
  );

  it('are held in the ratio of the weights, where that can be, whatever the length of a stay', () => {
    const place = hall(8, 40);
    for (let n = 0; n < 28; n++) place.enter(LIGHT);
    for (let n = 0; n < 24; n++) place.enter(HEAVY);
    for (let n = 0; n < 8; n++) place.serveOne();
    expect(place.holds()).toEqual({ heavy: 6, light: 2 });
    empty(place);
  });

  it('are all for one tenant while no other asks', () => {
    const place = hall(4, 4);
    for (let n = 0; n < 4; n++) place.enter(LIGHT);
    expect(place.holds()).toEqual({ heavy: 0, light: 4 });
    empty(place);
  });

  it('give a tenant that was away no more than its share', () => {
    const place = hall(1, 40);
    for (let n = 0; n < 20; n++) place.enter(LIGHT);
    for (let n = 0; n < 10; n++) place.serveOne();
    place.enter(HEAVY);
    for (let n = 0; n < 12; n++) {
      place.enter(HEAVY);
      place.enter(LIGHT);
    }
    const before = { ...place.granted };
    for (let n = 0; n < 8; n++) place.serveOne();
    const share = (name: string): number => (place.granted[name] ?? 0) - (before[name] ?? 0);
    expect([share('heavy'), share('light')]).toEqual([6, 2]);
    empty(place);
  });

  it('are given in the order of arrival within a tenant', () => {
    const order: number[] = [];
    const seats = new Seats({ seats: 1, queueCapacity: 5, queueTimeoutS: 60 });
    const releases: (() => void)[] = [];
    for (let n = 0; n < 5; n++) {
      seats.enter((answer) => {
        if (answer.kind !== 'seated') return;
        order.push(n);
        releases.push(answer.release);
      }, LIGHT);
    }
    while (releases.length > 0) releases.shift()!();
    expect(order).toEqual([0, 1, 2, 3, 4]);
  });

  it('are given back once, however often that is said', () => {
    const place = hall(2, 0);
    place.enter(LIGHT);
    place.enter(LIGHT);
    const { release } = place.held[0]!;
    release();
    release();
    release();
    expect(place.room.taken).toBe(1);
    place.held[1]!.release();
    expect(place.room.taken).toBe(0);
  });

  it('say of a tenant with all that it may have at once how long one of its stays is', () => {
    const seats = new Seats({ seats: 10, queueCapacity: 0, queueTimeoutS: 0 });
    const capped: Share = { name: 'capped', weight: 1, maxInFlight: 2 };
    const answers: SeatAnswer[] = [];
    for (let n = 0; n < 3; n++) seats.enter((answer) => answers.push(answer), capped);
    expect(answers.map(({ kind }) => kind)).toEqual(['seated', 'seated', 'tenant_full']);
    seats.enter((answer) => answers.push(answer), LIGHT);
    expect(answers.at(-1)?.kind).toBe('seated');
  });

  it('remember a bounded number of tenants', () => {
    const seats = new Seats({ seats: 10, queueCapacity: 0, queueTimeoutS: 0 });
    for (let n = 0; n < 1000; n++) {
      seats.enter((answer) => answer.kind === 'seated' && answer.release(), { name: `t${n}`, weight: 1 });
    }
    expect(seats.tenants).toBeLessThanOrEqual(256);
  });
});

describe('the queue', () => {
  it('is shared too: a newcomer takes the place of the newest request of who has too many', () => {
    const place = hall(1, 4);
    for (let n = 0; n < 5; n++) place.enter(LIGHT);
    expect(place.room.waiting).toBe(4);
    for (let n = 0; n < 5; n++) place.enter(HEAVY);
    expect(place.room.waiting).toBe(4);
    // Three of the four are the heavy one's; its fourth and fifth, and what they pushed out, were refused.
    expect(place.refused).toEqual({ light: 3, heavy: 2 });
    place.enter(LIGHT);
    expect(place.refused).toEqual({ light: 4, heavy: 2 });
    empty(place);
  });

  it('lets its waiters leave at once', () => {
    const place = hall(1, 4);
    place.enter(LIGHT);
    const leave = place.enter(LIGHT);
    leave();
    leave();
    expect(place.room.waiting).toBe(0);
    place.serveOne();
    expect(place.granted).toEqual({ light: 1 });
  });
});

describe('the door', () => {
  it('holds a flooding tenant back, and not one that has less than its share', () => {
    const door = new Door(4);
    const flood = Array.from({ length: 6 }, () => door.enter(LIGHT));
    expect(flood.map(({ isBeyond }) => isBeyond)).toEqual([false, false, false, false, true, true]);
    const newcomers = Array.from({ length: 4 }, () => door.enter(HEAVY));
    expect(newcomers.map(({ isBeyond }) => isBeyond)).toEqual([false, false, false, true]);
    for (const ticket of [...flood, ...newcomers]) {
      ticket.leave();
      ticket.leave();
    }
    expect(door.inside).toBe(0);
  });

  it('lets one pass for which room has been made meanwhile', () => {
    const door = new Door(1);
    const first = door.enter();
    const second = door.enter();
    expect(second.isBeyond).toBe(true);
    first.leave();
    expect(second.isBeyond).toBe(false);
  });
});
