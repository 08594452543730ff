/** What legs teach about engines: lines through noise, and queues of known speed. */
import { fitLine, median } from '../../lib/engines/line-fit';
import { EngineSpeed, MIN_SAMPLES, WINDOW } from '../../lib/engines/speed';

const NOTHING = { prompt: null, cached: null };

describe('a line', () => {
  const points = Array.from({ length: 20 }, (_, n) => [100 + n * 50, 0.02 + (100 + n * 50) / 5000] as const);

  it('is found exactly where there is no noise', () => {
    const { base, slope } = fitLine(points);
    expect(base).toBeCloseTo(0.02, 9);
    expect(slope).toBeCloseTo(1 / 5000, 9);
  });

  it('is found although every fifth point lies far off', () => {
    const spoilt = points.map(([work, s], n) =>
      n % 5 === 0 ? ([work, s * 20] as const) : ([work, s] as const),
    );
    const { base, slope } = fitLine(spoilt);
    expect(base).toBeCloseTo(0.02, 3);
    expect(slope * 5000).toBeCloseTo(1, 1);
  });

  it('goes through the origin where all points are of one size', () => {
    expect(
      fitLine([
        [100, 0.2],
        [100, 0.21],
        [101, 0.19],
      ]),
    ).toEqual({ base: 0, slope: expect.closeTo(0.002, 3) });
  });

  it('never falls, and never starts below zero', () => {
    const falling = points.map(([work, s]) => [work, 1 - s / 10] as const);
    expect(fitLine(falling).slope).toBe(0);
    const steep = points.map(([work]) => [work, work / 1000 - 0.05] as const);
    expect(fitLine(steep).base).toBe(0);
  });

  it('of medians takes the middle of two', () => {
    expect([median([3, 1, 2]), median([4, 1, 2, 3])]).toEqual([2, 2.5]);
  });
});

/** An engine that serves one prefill after another: 10 ms, and 1 ms for ten tokens. */
function serve(
  speed: EngineSpeed,
  sizes: readonly number[],
  gapMs: number,
  fault = (_n: number) => 0,
): number {
  let freeAt = 0;
  const runs = sizes.map((tokens, n) => {
    const sentAt = n * gapMs;
    const endsAt = Math.max(sentAt, freeAt) + 10 + tokens / 10 + fault(n);
    freeAt = endsAt;
    return { tokens, sentAt, endsAt };
  });
  const events = runs.flatMap((run) => [
    { at: run.sentAt, run, isEnd: false },
    { at: run.endsAt, run, isEnd: true },
  ]);
  const open = new Map<object, ReturnType<EngineSpeed['begin']>>();
  for (const { at, run, isEnd } of events.sort((a, b) => a.at - b.at)) {
    if (isEnd) speed.done(open.get(run)!, NOTHING, at);
    else open.set(run, speed.begin(run.tokens, at));
  }
  return freeAt;
}

const SIZES = Array.from({ length: 30 }, (_, n) => 200 + ((n * 7) % 11) * 100);

describe('the speed of an engine', () => {
  it.each([
    ['that is idle between legs', 1000],
    ['in front of which legs queue up', 5],
  ])('%s is learned', (_words, gapMs) => {
    const speed = new EngineSpeed();
    serve(speed, SIZES, gapMs);
    expect(speed.line?.base).toBeCloseTo(0.01, 4);
    expect(speed.line?.slope).toBeCloseTo(0.0001, 6);
  });

  it('is learned in spite of legs that take ten times as long', () => {
    const speed = new EngineSpeed();
    serve(speed, SIZES, 20_000, (n) => (n % 6 === 3 ? 3000 : 0));
    expect(speed.workS(speed.line!, 1000)).toBeCloseTo(0.11, 2);
  });

  it('is not known after too few legs', () => {
    const speed = new EngineSpeed();
    serve(speed, SIZES.slice(0, MIN_SAMPLES - 1), 1000);
    expect(speed.line).toBeNull();
  });

  it('tells how long the work in flight will take, less what is done of it', () => {
    const speed = new EngineSpeed();
    const now = serve(speed, SIZES, 1000);
    speed.begin(1000, now);
    speed.begin(500, now);
    expect(speed.backlogS(speed.line!, now)).toBeCloseTo(0.17, 3);
    expect(speed.backlogS(speed.line!, now + 60)).toBeCloseTo(0.11, 3);
    // The one at the head takes longer than it should: nothing of the next one is done for that.
    expect(speed.backlogS(speed.line!, now + 500)).toBeCloseTo(0.06, 3);
  });

  it('counts answers that come together as one batch', () => {
    const speed = new EngineSpeed();
    let now = 0;
    for (let batch = 0; batch < 20; batch++) {
      const size = 200 + (batch % 5) * 100;
      const runs = Array.from({ length: 4 }, () => speed.begin(size, now));
      now += 10 + (4 * size) / 10;
      for (const run of runs) speed.done(run, NOTHING, now);
      now += 1000;
    }
    expect(speed.line?.slope).toBeCloseTo(0.0001, 6);
  });

  it('leaves out what the engine had in its cache, and expects as much of the next prompt', () => {
    const speed = new EngineSpeed();
    let now = 0;
    for (const size of [...SIZES, ...SIZES, ...SIZES]) {
      const run = speed.begin(size, now);
      now += 10 + size / 20;
      speed.done(run, { prompt: size, cached: size / 2 }, now);
      now += 1000;
    }
    expect(speed.line?.slope).toBeCloseTo(0.0001, 6);
    expect(speed.workS(speed.line!, 1000)).toBeCloseTo(0.06, 3);
  });

  it('learns nothing from a leg that failed, nor from the one behind it', () => {
    const speed = new EngineSpeed();
    const now = serve(speed, SIZES, 1000);
    const before = { ...speed.line! };
    const failed = speed.begin(300, now);
    const next = speed.begin(300, now);
    speed.drop(failed, now + 9000);
    speed.drop(failed, now + 9000);
    speed.done(next, NOTHING, now + 9040);
    expect(speed.line).toEqual(before);
    expect(speed.running).toBe(0);
  });

  it('of decode is a line over the number of requests', () => {
    const speed = new EngineSpeed();
    for (let load = 1; load <= 16; load++) speed.sawInterval(load, 0.01 + load * 0.001);
    expect(speed.intervalLine?.base).toBeCloseTo(0.01, 6);
    expect(speed.intervalLine?.slope).toBeCloseTo(0.001, 6);
    expect(speed.firstTokenS).toBeNull();
    for (const s of [0.02, 0.03, 5]) speed.sawFirstToken(s);
    expect(speed.firstTokenS).toBe(0.03);
  });

  it('keeps a bounded number of observations, and all of them over a restart', () => {
    const speed = new EngineSpeed();
    for (let round = 0; round < 5; round++) serve(speed, SIZES, 1000);
    speed.sawFirstToken(0.02);
    const memory = JSON.parse(JSON.stringify(speed.remember())) as ReturnType<EngineSpeed['remember']>;
    expect(memory.prefill).toHaveLength(WINDOW);
    const next = new EngineSpeed();
    next.recall(memory, 5);
    expect([next.line, next.firstTokenS, next.isDirty]).toEqual([speed.line, 0.02, false]);
  });
});
