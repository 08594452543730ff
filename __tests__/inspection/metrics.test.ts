/** What a request, an engine and a router put into GET /metrics. */
import type { Request, Response } from 'express';
import { Counter, Registry } from 'prom-client';
import { ConfigError, narwhalRouter } from '../../lib/index';
import { SERIES } from '../../lib/inspection/series';
import { thrownBy } from '../helpers/alone';
import { CHAT, CHAT_BODY, COMPLETION_BODY, COMPLETIONS, call } from '../helpers/call';
import { closeLater } from '../helpers/close-all';
import { startGateway } from '../helpers/create-app';
import { Scrape, scrape } from './scrape';

const SLO = { slo: { ttft_s: 30, tpot_s: 30 } };
const FLEET = { model: 'm', engines: [{ iid: 'b0', url: 'http://127.0.0.1:9', role: 'both' }] };

describe('GET /metrics', () => {
  it('tells of a served request in every series that is about it', async () => {
    const { url, journal } = await startGateway({ fleetFile: SLO });
    await call(url + CHAT, { body: CHAT_BODY });
    await call(url + COMPLETIONS, { body: { ...COMPLETION_BODY, stream: true } });
    const rows = await journal.waitForRows(2);
    const seen = await scrape(url);
    const good = { terminal: 'completed', reason: 'none' };
    expect(seen.value('narwhal_requests_total', { route: CHAT, stream: 'false', ...good })).toBe(1);
    expect(seen.value('narwhal_requests_total', { route: COMPLETIONS, stream: 'true', ...good })).toBe(1);
    expect(seen.sum('narwhal_requests_total')).toBe(2);
    for (const name of [
      'narwhal_queue_wait_seconds',
      'narwhal_first_byte_seconds',
      'narwhal_token_interval_seconds',
      'narwhal_router_overhead_seconds',
    ]) {
      expect([name, seen.value(`${name}_count`)]).toEqual([name, 2]);
    }
    expect(seen.value('narwhal_request_duration_seconds_count', { terminal: 'completed' })).toBe(2);
    expect(seen.value('narwhal_prefill_seconds_count', { iid: 'p0' })).toBe(2);
    expect(seen.value('narwhal_handoff_to_first_token_seconds_count', { iid: 'd0' })).toBe(2);
    const sumOf = (pick: (row: (typeof rows)[number]) => number | null) =>
      rows.reduce((sum, row) => sum + (pick(row) ?? 0), 0);
    expect(seen.value('narwhal_tokens_total', { type: 'input' })).toBe(sumOf((row) => row.input_len));
    expect(seen.value('narwhal_tokens_total', { type: 'output' })).toBe(sumOf((row) => row.output_len));
    expect(seen.value('narwhal_first_byte_seconds_sum')).toBeCloseTo(sumOf((row) => row.first_byte_s));
    for (const target of ['ttft', 'tpot']) {
      expect(seen.value('narwhal_slo_measured_total', { target })).toBe(2);
      expect(seen.value('narwhal_slo_met_total', { target })).toBe(2);
    }
    expect(seen.value('narwhal_handoffs_total', { iid: 'p0', state: 'claimed' })).toBe(2);
    expect(seen.value('narwhal_engine_handoffs_held', { iid: 'p0' })).toBe(0);
  });

  it('has the buckets of a histogram in rising order, ended by the count', async () => {
    const { url, journal } = await startGateway();
    await call(url + CHAT, { body: CHAT_BODY });
    await journal.firstRow();
    const { text } = await scrape(url);
    const buckets = [...text.matchAll(/^narwhal_first_byte_seconds_bucket\{le="([^"]+)"\} (\d+)$/gm)];
    const counts = buckets.map((match) => Number(match[2]));
    expect(counts.length).toBeGreaterThan(10);
    expect(counts).toEqual([...counts].sort((a, b) => a - b));
    expect(buckets.at(-1)?.[1]).toBe('+Inf');
    expect(counts.at(-1)).toBe(1);
  });

  it('counts no slo that the fleet file does not set, and a missed one as measured only', async () => {
    const none = await startGateway();
    expect((await scrape(none.url)).text).not.toMatch(/^narwhal_slo_met_total\{/m);
    const strict = await startGateway({ fleetFile: { slo: { ttft_s: 0.000001 } } });
    await call(strict.url + CHAT, { body: CHAT_BODY });
    await strict.journal.firstRow();
    const seen = await scrape(strict.url);
    expect(seen.value('narwhal_slo_measured_total', { target: 'ttft' })).toBe(1);
    expect(seen.value('narwhal_slo_met_total', { target: 'ttft' })).toBe(0);
    expect(seen.text).not.toContain('target="tpot"');
  });

  it('counts a failed request against the slo, and refusals neither way', async () => {
    const { url, journal } = await startGateway({
      fleetFile: { ...SLO, serving: { max_attempts: 1 } },
      stub: { script: { leg: 'decode', status: 500 } },
    });
    await call(url + CHAT, { body: CHAT_BODY });
    await call(url + CHAT, { body: { ...CHAT_BODY, n: 2 } });
    await journal.waitForRows(2);
    const seen = await scrape(url);
    expect(seen.value('narwhal_slo_measured_total', { target: 'ttft' })).toBe(1);
    expect(seen.value('narwhal_slo_met_total', { target: 'ttft' })).toBe(0);
    expect(seen.value('narwhal_first_byte_seconds_count')).toBe(0);
  });

  it('counts what shadow admission would have refused', async () => {
    const { url, journal } = await startGateway({
      fleetFile: { slo: { ttft_s: 0.001 }, serving: { admission: 'shadow' } },
      router: { admissionGate: { maxDelayS: 60 } },
      stub: { script: { leg: 'prefill', delayMs: 10 } },
    });
    let shadow: string | null = null;
    for (let count = 1; shadow === null; count++) {
      expect((await call(url + CHAT, { body: CHAT_BODY })).status).toBe(200);
      shadow = (await journal.waitForRows(count)).at(-1)!.shadow;
    }
    expect((await scrape(url)).value('narwhal_shadow_refusals_total', { reason: shadow })).toBe(1);
  });

  it('counts failures by engine and class, retries, and an engine that was taken out', async () => {
    const { url, journal, router } = await startGateway({
      fleetFile: { serving: { retry_base_s: 0.001 }, recovery: { eject_after: 1 } },
      stub: { decode: 2, script: [{ leg: 'decode', status: 500 }] },
    });
    expect((await call(url + CHAT, { body: CHAT_BODY })).status).toBe(200);
    const { attempt_failures } = await journal.firstRow();
    const iid = attempt_failures[0]!.iid;
    const seen = await scrape(url);
    expect(seen.value('narwhal_engine_failures_total', { iid, class: 'inference_status' })).toBe(1);
    expect(seen.sum('narwhal_engine_failures_total')).toBe(1);
    expect(seen.value('narwhal_retries_total')).toBe(1);
    expect(seen.value('narwhal_engine_ejections_total', { iid })).toBe(1);
    const states = ['live', 'ejected', 'drained'].map((state) =>
      seen.value('narwhal_engine_state', { iid, role: 'decode', state }),
    );
    expect(states).toEqual([0, 1, 0]);
    expect(router.state().engines.find((engine) => engine.iid === iid)?.failures.inference_status).toBe(1);
  });

  it('counts a key that an engine does not accept under a class of its own', async () => {
    const { url, journal } = await startGateway({
      fleetFile: { serving: { max_attempts: 1 } },
      stub: { script: { leg: 'prefill', status: 401 } },
    });
    await call(url + CHAT, { body: CHAT_BODY });
    await journal.firstRow();
    expect((await scrape(url)).value('narwhal_engine_failures_total', { iid: 'p0', class: 'auth' })).toBe(1);
  });

  it('shows what runs while it runs, and zero after', async () => {
    let reached: () => void = () => undefined;
    const atDecode = new Promise<void>((resolve) => {
      reached = resolve;
    });
    const { url, journal } = await startGateway({
      stub: { script: { leg: 'decode', hang: true, onCall: () => reached() } },
    });
    const controller = new AbortController();
    const held = call(url + CHAT, { body: CHAT_BODY, signal: controller.signal }).catch(() => null);
    await atDecode;
    const during = await scrape(url);
    expect(during.value('narwhal_requests_in_flight')).toBe(1);
    expect(during.value('narwhal_seats_taken')).toBe(1);
    expect(during.value('narwhal_engine_legs_in_flight', { iid: 'd0', leg: 'decode' })).toBe(1);
    expect(during.value('narwhal_engine_handoffs_held', { iid: 'p0' })).toBe(1);
    controller.abort();
    await held;
    const row = await journal.firstRow();
    const after = await scrape(url);
    expect(after.value('narwhal_engine_legs_in_flight', { iid: 'd0', leg: 'decode' })).toBe(0);
    expect(after.value('narwhal_engine_handoffs_held', { iid: 'p0' })).toBe(0);
    const { terminal, reason } = row;
    expect(after.sum('narwhal_requests_total', { terminal, reason: reason ?? '' })).toBe(1);
    expect(after.value('narwhal_router_overhead_seconds_count')).toBe(0);
  });

  it('counts rows that the journal could not keep', async () => {
    const journal = {
      write: () => {
        throw new Error('full');
      },
      close: () => undefined,
    };
    const { url } = await startGateway({ router: { journal } });
    await call(url + CHAT, { body: CHAT_BODY });
    let seen = await scrape(url);
    while (seen.value('narwhal_requests_in_flight') > 0) seen = await scrape(url);
    expect(seen.value('narwhal_journal_rows_lost_total')).toBe(1);
  });

  it('has exactly the series of the table, with their types, and no other label than it says', async () => {
    const { url } = await startGateway({ fleetFile: SLO });
    const seen = await scrape(url);
    expect(seen.types).toEqual(
      Object.fromEntries(Object.entries(SERIES).map(([name, { type }]) => [name, type])),
    );
    for (const key of seen.series) {
      const name = key.slice(0, key.indexOf('{')).replace(/_(bucket|sum|count)$/, '') as keyof typeof SERIES;
      const labels = [...key.matchAll(/(\w+)="/g)]
        .map((match) => match[1]!)
        .filter((label) => label !== 'le');
      expect([key, labels.sort()]).toEqual([key, [...SERIES[name].labels].sort()]);
    }
  });
});

describe('the metrics option', () => {
  it('puts the series into a registry of the host, beside its own, until the router is closed', async () => {
    const registry = new Registry();
    new Counter({ name: 'host_things_total', help: 'of the host', registers: [registry] }).inc(3);
    const { url, router, journal } = await startGateway({ router: { metrics: registry } });
    await call(url + CHAT, { body: CHAT_BODY });
    await journal.firstRow();
    const seen = await scrape(url);
    expect(seen.value('host_things_total')).toBe(3);
    expect(seen.sum('narwhal_requests_total')).toBe(1);
    expect(new Scrape(await registry.metrics()).sum('narwhal_requests_total')).toBe(1);
    expect((await registry.getMetricsAsJSON()).map(({ name }) => name)).toContain('narwhal_prefill_seconds');
    await router.close();
    expect(await registry.metrics()).not.toContain('narwhal_');
    expect(await registry.metrics()).toContain('host_things_total');
  });

  it('refuses a second router on one registry at once, and takes one after the first is closed', async () => {
    const metrics = new Registry();
    const make = () => narwhalRouter({ fleet: FLEET, journal: false, metrics });
    const first = make();
    const error = thrownBy(make);
    expect(error).toBeInstanceOf(ConfigError);
    expect(error?.message).toBe(
      'narwhalRouter: metrics: this registry has narwhal_requests_total already; give each router a registry of its own',
    );
    await first.close();
    await make().close();
  });

  it('leaves a registry of the host as it was where another option is bad', () => {
    const metrics = new Registry();
    expect(thrownBy(() => narwhalRouter({ fleet: FLEET, journal: 5 as never, metrics }))).toBeInstanceOf(
      ConfigError,
    );
    expect(metrics.getMetricsAsArray()).toEqual([]);
  });

  it('lets two routers of one process have registries of their own by default', async () => {
    const one = await startGateway();
    const two = await startGateway();
    await call(one.url + CHAT, { body: CHAT_BODY });
    await one.journal.firstRow();
    expect((await scrape(one.url)).sum('narwhal_requests_total')).toBe(1);
    expect((await scrape(two.url)).sum('narwhal_requests_total')).toBe(0);
  });

  it.each([true, null, {}, 'registry', { metrics: () => '' }])('refuses %j', (metrics) => {
    const error = thrownBy(() => narwhalRouter({ fleet: FLEET, journal: false, metrics: metrics as never }));
    expect(error?.message).toBe('narwhalRouter: metrics must be a prom-client registry, or false');
  });

  it('leaves /metrics to the host with false', async () => {
    const { url } = await startGateway({
      router: { metrics: false },
      after: [(_req: Request, res: Response) => void res.status(418).end()],
    });
    expect((await call(url + CHAT, { body: CHAT_BODY })).status).toBe(200);
    expect((await call(`${url}/metrics`, { method: 'GET' })).status).toBe(418);
  });

  it('answers 500 in the envelope where a series of the host fails', async () => {
    const registry = new Registry();
    registry.registerMetric(
      new Counter({
        name: 'broken_total',
        help: 'fails',
        registers: [],
        collect: () => {
          throw new Error('secret words');
        },
      }),
    );
    const { url } = await startGateway({ router: { metrics: registry } });
    const reply = await call(`${url}/metrics`, { method: 'GET' });
    expect(reply.status).toBe(500);
    expect(reply.text).not.toContain('secret words');
    closeLater({ close: () => registry.clear() });
  });
});
