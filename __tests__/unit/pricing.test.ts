/** The price of a request, from what its engines have shown: without requests. */
import { Pricing } from '../../lib/admission/price';
import type { Fleet } from '../../lib/engines/fleet';
import { createFleet } from '../../lib/index';
import { closeLater } from '../helpers/close-all';

const ENGINES = [
  { iid: 'p0', url: 'http://127.0.0.1:9', role: 'prefill' },
  { iid: 'p1', url: 'http://127.0.0.1:10', role: 'prefill' },
  { iid: 'd0', url: 'http://127.0.0.1:11', role: 'decode' },
];

function fleetOf(engines: object[] = ENGINES, more: object = { slo: { ttft_s: 1 } }): Fleet {
  const serving = { admission: 'predictive' };
  return closeLater(createFleet({ model: 'm', engines, serving, ...more }));
}

/** Prefill of 0.1 s for each 1000 tokens, one after the other. */
function teach(fleet: Fleet, iid: string): void {
  const { speed } = fleet.engine(iid)!;
  let now = 0;
  for (let n = 1; n <= 40; n++) {
    const tokens = 1000 * (1 + (n % 8));
    const run = speed.begin(tokens, now);
    now += tokens / 10;
    speed.done(run, { prompt: tokens, cached: 0 }, now);
    now += 10_000;
  }
}

describe('the price of a request', () => {
  it('is unknown without a target for the first token: the gate stays open', () => {
    const pricing = new Pricing(fleetOf(ENGINES, { serving: {} }));
    expect([pricing.mode, pricing.judge(1e9, 1, 0, 0)]).toEqual(['open', null]);
  });

  it('is unknown while nothing was learned', () => {
    const pricing = new Pricing(fleetOf());
    expect([pricing.mode, pricing.judge(1e9, 1, 0, 0)]).toEqual(['predictive', null]);
  });

  it('is unknown where requests are served in one leg, or not at all', () => {
    const both = fleetOf([{ iid: 'b0', url: 'http://127.0.0.1:9', role: 'both' }]);
    expect(new Pricing(both).project(5, 1, 0)).toBeNull();
    const split = fleetOf();
    for (const iid of ['p0', 'p1']) split.drain(iid);
    expect(new Pricing(split).project(5, 1, 0)).toBeNull();
  });

  it('is, on an engine that is new, what the others have shown', () => {
    const fleet = fleetOf();
    const pricing = new Pricing(fleet);
    teach(fleet, 'p0');
    const now = 1e6;
    const own = pricing.project(4000, 1, now)!;
    // A request waits on the one that is known: the next goes to the new one.
    fleet.place('prefill', 4000, new Set([fleet.engine('p1')!]));
    const other = pricing.project(4000, 1, now)!;
    expect([own.engine.config.iid, other.engine.config.iid]).toEqual(['p0', 'p1']);
    expect(own.aloneS).toBeCloseTo(0.4, 1);
    expect(other.aloneS).toBeCloseTo(own.aloneS, 5);
  });

  it('is less for many prompts, which are spread over the engines', () => {
    const fleet = fleetOf();
    const pricing = new Pricing(fleet);
    for (const iid of ['p0', 'p1']) teach(fleet, iid);
    const [one, two, many] = [1, 2, 9].map((parts) => pricing.project(8000, parts, 1e6)!.aloneS);
    expect(two).toBeCloseTo(one! / 2, 1);
    expect(many).toBe(two);
  });

  it('is too high for the prompt itself, or for the queue before it', () => {
    const fleet = fleetOf();
    const pricing = new Pricing(fleet);
    for (const iid of ['p0', 'p1']) teach(fleet, iid);
    const now = fleet.engine('p0')!.speed.measuredAt + 1;
    expect(pricing.judge(4000, 1, 0, now)).toMatchObject({ refusal: null, excessS: 0 });
    expect(pricing.judge(40_000, 1, 0, now)).toMatchObject({ refusal: 'prompt' });
    expect(pricing.judge(4000, 1, 60, now)).toMatchObject({ refusal: 'queue', excessS: 0 });
    // Nobody has used the engine for long: what it would cost now can be found out by a request alone.
    expect(pricing.judge(40_000, 1, 0, now + 60_000)).toMatchObject({ refusal: null });
  });

  it('is raised, within bounds, where requests took longer than was said', () => {
    const pricing = new Pricing(fleetOf());
    for (const wrong of [0, -1, Number.NaN]) for (let n = 0; n < 20; n++) pricing.saw(wrong, 5);
    for (let n = 0; n < 15; n++) pricing.saw(1, 1.1);
    expect(pricing.caution).toBe(1);
    pricing.saw(1, 1.1);
    expect(pricing.caution).toBeCloseTo(1.1);
    for (let n = 0; n < 64; n++) pricing.saw(1, 9);
    expect(pricing.caution).toBe(1.25);
    for (let n = 0; n < 64; n++) pricing.saw(1, 0.5);
    expect(pricing.caution).toBe(1);
  });
});
