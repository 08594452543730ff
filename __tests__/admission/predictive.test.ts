/** Predictive admission over HTTP, with engines that prefill one prompt after another at a fixed rate. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Pricing } from '../../lib/admission/price';
import { createFleet, type Fleet, narwhalRouter } from '../../lib/index';
import type { StubCall, StubScript } from '../../lib/testing';
import { COMPLETIONS, call, envelopeOf } from '../helpers/call';
import { closeLater } from '../helpers/close-all';
import { type Gateway, startGateway } from '../helpers/create-app';

const TOKENS_PER_S = 2500;
const SLO = { ttft_s: 0.6 };
/** Enough to learn from. */
const LESSONS = [100, 300, 150, 400, 100, 350, 200, 250, 100, 300];
/** Takes 1.6 s by itself. */
const HUGE = 4000;

function fixedRate(): (asked: StubCall) => StubScript | undefined {
  let freeAt = 0;
  return ({ leg, json }) => {
    if (leg !== 'prefill') return undefined;
    const now = performance.now();
    freeAt =
      Math.max(now, freeAt) +
      (((json?.['prompt'] as unknown[] | undefined) ?? []).length * 1000) / TOKENS_PER_S;
    return { leg: 'prefill', delayMs: freeAt - now };
  };
}

function ask({ url }: Pick<Gateway, 'url'>, tokens: number) {
  return call(url + COMPLETIONS, { body: { prompt: new Array(tokens).fill(7), max_tokens: 2 } });
}

/** A gateway that has served enough to know its engine. */
async function start(admission: string, admissionGate = {}, lessons = LESSONS): Promise<Gateway> {
  const gateway = await startGateway({
    stub: { script: fixedRate() },
    fleetFile: { slo: SLO, serving: { admission } },
    router: { admissionGate },
  });
  for (const tokens of lessons) expect((await ask(gateway, tokens)).status).toBe(200);
  return gateway;
}

describe('predictive admission', () => {
  it('stays open while too little is known, then prices every request', async () => {
    const gateway = await start('predictive');
    await ask(gateway, 500);
    const rows = await gateway.allRows();
    expect(rows.slice(0, 8).map(({ price_s }) => price_s)).toEqual(new Array(8).fill(null));
    const { price_s, first_byte_s, shadow } = rows.at(-1)!;
    expect(shadow).toBeNull();
    // 500 tokens are 0.2 s; what the machine adds is in both.
    expect(price_s).toBeGreaterThan(0.15);
    expect(price_s).toBeLessThan(0.5);
    expect(first_byte_s).toBeGreaterThan(0.15);
  });

  it('refuses a prompt that alone takes too long, for good', async () => {
    const gateway = await start('predictive');
    const refused = await ask(gateway, HUGE);
    expect(refused.status).toBe(429);
    expect(envelopeOf(refused)).toEqual({
      message: 'the prompt alone takes longer than the time to the first token that is aimed at',
      type: 'server_overloaded_error',
      param: null,
      code: null,
    });
    expect(refused.headers).toMatchObject({ 'x-narwhal-reason': 'prompt', 'x-should-retry': 'false' });
    expect(refused.headers['retry-after']).toBeUndefined();
    const rows = await gateway.allRows();
    expect(rows.at(-1)).toMatchObject({
      status: 429,
      terminal: 'refused',
      reason: 'prompt',
      input_len: HUGE,
      price_s: expect.closeTo(1.6, 0) as number,
      attempts: 0,
    });
  });

  it('refuses what would wait too long, and says when to come back', async () => {
    const gateway = await start('predictive');
    const replies = await Promise.all(Array.from({ length: 8 }, () => ask(gateway, 700)));
    const refused = replies.filter(({ status }) => status === 429);
    expect(replies.map(({ status }) => status)).toContain(200);
    expect(refused.length).toBeGreaterThanOrEqual(4);
    for (const reply of refused) {
      expect(envelopeOf(reply).type).toBe('server_overloaded_error');
      expect(reply.headers['x-narwhal-reason']).toBe('queue');
      expect(reply.headers['retry-after']).toMatch(/^[1-9]$/);
      expect(reply.headers['x-should-retry']).toBeUndefined();
    }
    const rows = (await gateway.allRows()).slice(LESSONS.length);
    for (const { terminal, reason, price_s } of rows) {
      expect([terminal, reason]).toEqual(
        terminal === 'completed' ? ['completed', null] : ['refused', 'queue'],
      );
      expect(price_s).toEqual(expect.any(Number));
    }
  });

  it('in shadow decides and journals, and refuses nothing', async () => {
    const gateway = await start('shadow');
    expect((await ask(gateway, HUGE)).status).toBe(200);
    expect((await ask(gateway, 200)).status).toBe(200);
    const rows = await gateway.allRows();
    expect(rows.slice(-2).map(({ status, shadow }) => [status, shadow])).toEqual([
      [200, 'prompt'],
      [200, null],
    ]);
    expect(rows.at(-2)?.price_s).toBeGreaterThan(SLO.ttft_s);
  });

  it('that is open has no prices', async () => {
    const gateway = await start('open');
    expect((await ask(gateway, 600)).status).toBe(200);
    expect((await gateway.allRows()).map(({ price_s }) => price_s)).toEqual(
      new Array(LESSONS.length + 1).fill(null),
    );
  });

  it.each(['predictive', 'shadow'])('of mode %s needs a target', (admission) => {
    const make = () =>
      narwhalRouter({
        fleet: {
          model: 'm',
          engines: [{ iid: 'b', url: 'http://127.0.0.1:9', role: 'both' }],
          serving: { admission },
        },
        journal: false,
      });
    expect(make).toThrow(`serving.admission: ${admission} needs slo.ttft_s`);
  });
});

describe('the state file', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'narwhal-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('keeps what was learned over a restart', async () => {
    const stateFile = join(folder, 'speeds.json');
    const first = await start('predictive', { stateFile });
    await first.router.close();
    expect(JSON.parse(readFileSync(stateFile, 'utf8'))).toMatchObject({
      schema: 'narwhal.speeds',
      schema_version: 1,
      engines: { p0: { prefill: expect.any(Array) as unknown } },
    });
    const second = await start('predictive', { stateFile }, []);
    const refused = await ask(second, HUGE);
    expect([refused.status, refused.headers['x-narwhal-reason']]).toEqual([429, 'prompt']);
  });

  it.each([
    ['no JSON', '{"schema":'],
    ['of another kind', '{"schema":"other","schema_version":1}'],
    [
      'half right',
      '{"schema":"narwhal.speeds","schema_version":1,"engines":{"p0":{"prefill":[[1],["a",2],null]}}}',
    ],
  ])('that is %s stops nothing', async (words, text) => {
    const stateFile = join(folder, 'speeds.json');
    writeFileSync(stateFile, text);
    const gateway = await start('predictive', { stateFile }, [100]);
    const warnings = gateway.logger.lines.filter(({ message }) => message.includes('state file'));
    expect(warnings).toHaveLength(words === 'half right' ? 0 : 1);
  });

  it('that cannot be written costs a warning', async () => {
    const stateFile = join(folder, 'absent', 'speeds.json');
    const gateway = await start('predictive', { stateFile }, [100]);
    await gateway.router.close();
    expect(existsSync(stateFile)).toBe(false);
    expect(gateway.logger.text).toContain('cannot be written');
  });
});

describe('pricing', () => {
  /** A fleet of two prefill engines that are known: 1 ms for a token. */
  function known(more: object = {}): Fleet {
    const url = 'http://127.0.0.1:9';
    const fleet = closeLater(
      createFleet({
        model: 'm',
        engines: [
          { iid: 'p0', url, role: 'prefill' },
          { iid: 'p1', url, role: 'prefill' },
          { iid: 'd0', url, role: 'decode' },
        ],
        slo: { ttft_s: 1 },
        serving: { admission: 'predictive', ...more },
      }),
    );
    const prefill = Array.from({ length: 10 }, (_, n) => [100 + n * 100, 0.1 + n * 0.1] as const);
    fleet.engine('p0')!.speed.recall({ prefill, first_token: [], interval: [] }, 0);
    return fleet;
  }

  it('adds the wait that is over, the work ahead and the prompt itself', () => {
    const fleet = known();
    const pricing = new Pricing(fleet);
    expect(pricing.judge(400, 1, 0, 0)).toMatchObject({
      priceS: expect.closeTo(0.4, 6) as number,
      refusal: null,
    });
    for (const iid of ['p0', 'p1']) fleet.engine(iid)!.speed.begin(300, 0);
    expect(pricing.judge(400, 1, 0.2, 0)?.priceS).toBeCloseTo(0.9, 6);
    expect(pricing.judge(400, 1, 0.4, 0)).toMatchObject({ refusal: 'queue', excessS: 0 });
    expect(pricing.judge(900, 1, 0, 0)).toMatchObject({
      refusal: 'queue',
      excessS: expect.closeTo(0.2, 6) as number,
    });
    expect(pricing.judge(1100, 1, 0, 0)?.refusal).toBe('prompt');
  });

  it('leaves the margin of the fleet file', () => {
    const pricing = new Pricing(known({ admission_margin: 0.5 }));
    expect([pricing.judge(1400, 1, 0, 0)?.refusal, pricing.judge(1600, 1, 0, 0)?.refusal]).toEqual([
      null,
      'prompt',
    ]);
  });

  it('spreads a list of prompts over the engines', () => {
    expect(new Pricing(known()).judge(800, 4, 0, 0)?.priceS).toBeCloseTo(0.4, 6);
  });

  it('lets an idle engine that was not measured for half a minute prove itself, once', () => {
    const fleet = known();
    const pricing = new Pricing(fleet);
    expect(pricing.judge(5000, 1, 0, 29_000)?.refusal).toBe('prompt');
    // The other engine is not known at all: its first prompt is a measurement.
    expect(pricing.judge(5000, 1, 0, 31_000)?.refusal).toBeNull();
    for (const iid of ['p0', 'p1']) fleet.engine(iid)!.speed.begin(5000, 31_000);
    expect(pricing.judge(5000, 1, 0, 31_001)?.refusal).toBe('prompt');
  });

  it('grows careful where requests take longer than it said, within bounds', () => {
    const pricing = new Pricing(known());
    for (let n = 0; n < 64; n++) pricing.saw(1, n % 4 === 0 ? 1.1 : 1);
    expect(pricing.caution).toBe(1.1);
    expect(pricing.judge(950, 1, 0, 0)?.refusal).toBe('queue');
    for (let n = 0; n < 64; n++) pricing.saw(1, 3);
    expect(pricing.caution).toBe(1.25);
    for (let n = 0; n < 64; n++) pricing.saw(1, 0.5);
    expect(pricing.caution).toBe(1);
  });

  it('has no price without a live engine of each role', () => {
    const fleet = known();
    fleet.drain('d0');
    expect(new Pricing(fleet).judge(100, 1, 0, 0)).toBeNull();
  });
});
