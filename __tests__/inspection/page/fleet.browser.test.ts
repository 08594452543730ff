/** The fleet page in a real browser, in front of a real gateway. */
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import type { Browser, Page } from 'playwright-core';
import type { NarwhalRouterOptions } from '../../../lib/index';
import { MAX_VIEWERS } from '../../../lib/inspection/page/viewers';
import { bodyFor, CHAT, COMPLETIONS, call } from '../../helpers/call';
import { type Gateway, type GatewayOptions, startGateway } from '../../helpers/create-app';
import { findChromium, launch, openPage } from './browser';
import { watch, watchWhenFree } from './watcher';

/** A browser on a busy machine takes its time. */
jest.setTimeout(60_000);

const AXE = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

const ROUTER: NarwhalRouterOptions = { inspection: { page: true }, closeTimeoutS: 0 };

function start(more: GatewayOptions = {}): Promise<Gateway> {
  return startGateway({ router: ROUTER, ...more });
}

/** Starts requests that hang in decode until they are left. */
function hang({ url, fleet }: Gateway, count: number): { leave(): Promise<void> } {
  fleet.script = { leg: 'decode', hangAfterFrames: 2 };
  const leaving = new AbortController();
  const requests = Array.from({ length: count }, () =>
    call(url + CHAT, { body: bodyFor(CHAT, { stream: true }), signal: leaving.signal }),
  );
  const gone = Promise.allSettled(requests);
  return {
    async leave() {
      leaving.abort();
      await gone;
    },
  };
}

const post = ({ url }: Gateway, path = CHAT, members = {}) =>
  call(url + path, { body: bodyFor(path, members) });

/** Waits until a part of the page has this text. */
async function seen(page: Page, selector: string, text: string | RegExp): Promise<void> {
  await page.locator(selector).filter({ hasText: text }).first().waitFor();
}

const rowOf = (iid: string) => `tr[data-key="${iid}"]`;

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

/** What axe-core finds wrong. */
async function violations(page: Page): Promise<string[]> {
  await page.evaluate(AXE);
  const found = await page.evaluate<Violation[]>(
    'axe.run(document, { preload: false }).then((r) => r.violations)',
  );
  return found.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
  );
}

/** A gateway with something of everything on its page. */
async function busyGateway() {
  const gateway = await start({
    stub: { prefill: 2, decode: 2 },
    fleetFile: {
      recovery: { eject_after: 1, failure_quarantine_s: 60 },
      serving: { max_attempts: 1, max_connections: 2, queue_capacity: 1, queue_timeout_s: 60 },
    },
  });
  await post(gateway, COMPLETIONS, { max_tokens: 8 });
  await post(gateway, CHAT, { n: 2 });
  gateway.fleet.engine('d0').script = { leg: 'decode', status: 500 };
  while ((await post(gateway)).status !== 502);
  const running = hang(gateway, 3);
  return { ...gateway, running };
}

const chromium = findChromium();
const inBrowser = chromium !== null || process.env['CI'] === 'true' ? describe : describe.skip;
if (inBrowser === describe.skip) {
  process.stderr.write(
    'The fleet page is not tested: no chromium is there. Debian: apt-get install chromium\n',
  );
}

inBrowser('the fleet page in a browser', () => {
  let browser: Browser;

  beforeAll(async () => {
    browser = await launch();
  }, 60_000);
  afterAll(() => browser?.close());

  it('says so where there is nothing yet', async () => {
    const { url } = await start({ mountPath: '/api' });
    const { page, problems } = await openPage(browser, url, {}, '/api/narwhal');
    expect(page.url()).toBe(`${url}/api/narwhal/`);
    await seen(page, '#verdict', 'All 2 engines take work.');
    await seen(page, '#first-byte-chart', 'No answer has ended in the last 5 minutes.');
    await seen(page, '#failures-empty', 'None since the gateway started.');
    await seen(page, '#refusals-empty', 'None since the gateway started.');
    expect(await page.locator('#failures-table').isVisible()).toBe(false);
    expect(problems).toEqual([]);
  });

  it('shows a load: requests in flight and queued, legs on engines, then curves', async () => {
    const gateway = await start({
      fleetFile: { serving: { max_connections: 2, queue_capacity: 4, queue_timeout_s: 60 } },
    });
    const { page, problems } = await openPage(browser, gateway.url);
    const running = hang(gateway, 3);
    await seen(page, '#in-flight', /^3$/);
    await seen(page, '#seats', '2 of 2 seats');
    await seen(page, '#queued', /^1$/);
    await seen(page, '#queue-room', 'of 4');
    await seen(page, rowOf('d0'), '2 legs');
    await running.leave();
    await seen(page, '#in-flight', /^0$/);
    gateway.fleet.script = undefined;
    for (let i = 0; i < 5; i++) await post(gateway, COMPLETIONS, { max_tokens: 6 });
    await seen(page, '#completed', /^5$/);
    for (const chart of ['#first-byte-chart', '#interval-chart']) {
      // It is drawn when its five seconds are over.
      await page.locator(`${chart} .plot .curve.first[d^="M"]`).waitFor({ state: 'attached' });
      const label = await page.locator(`${chart} .plot svg`).getAttribute('aria-label');
      expect(label).toMatch(/: median [\d.]+ (us|ms|s), p95 [\d.]+ (us|ms|s); highest /);
    }
    await page.getByText('The same as a table').click();
    await seen(page, '#minutes-rows tr', /^\d+ s[1-5]/);
    expect(problems).toEqual([]);
  });

  it('shows an engine that is ejected, and its return, and says both aloud once', async () => {
    const gateway = await start({
      stub: { prefill: 1, decode: 2 },
      fleetFile: {
        recovery: { eject_after: 1, readmit_every: 1, failure_quarantine_s: 1 },
        controller: { monitor_interval_s: 0.1 },
      },
    });
    const { page, problems } = await openPage(browser, gateway.url);
    gateway.fleet.engine('d0').script = { status: 500 };
    for (let i = 0; i < 2; i++) await post(gateway);
    await seen(page, rowOf('d0'), /ejected.*answers with errors; (quarantined for 1 s|until a good probe)/);
    await seen(page, '#verdict', '1 of 3 engines takes no work: d0.');
    await seen(page, '#news', 'd0 is ejected.');
    await seen(page, '[data-role="decode"] h3', '1 of 2 take work');
    expect(await page.title()).toBe('(1 ejected) Fleet');
    gateway.fleet.engine('d0').script = undefined;
    await seen(page, rowOf('d0'), 'on probation');
    await seen(page, '#news', 'd0 is on probation.');
    for (let i = 0; i < 4; i++) await post(gateway);
    await seen(page, `${rowOf('d0')} .mark`, /^live$/);
    await seen(page, rowOf('d0'), 'ejected 1x');
    await seen(page, '#verdict', 'All 3 engines take work.');
    expect(await page.title()).toBe('Fleet');
    expect(problems).toEqual([]);
  });

  it('shows refusals by reason, and a failed request with what it takes to look it up', async () => {
    const gateway = await start({ stub: { prefill: 1, decode: 1 } });
    const { page, problems } = await openPage(browser, gateway.url);
    await post(gateway, CHAT, { n: 2 });
    await post(gateway, CHAT, { model: 'other' });
    await post(gateway, CHAT, { model: 'other' });
    gateway.fleet.engine('d0').script = { leg: 'decode', resetAfterFrames: 3 };
    await post(gateway, CHAT, {
      stream: true,
      messages: [{ role: 'user', content: '<b>prompt</b>-canary' }],
    });
    await seen(page, '#refusals-rows tr:first-child', /model.*another model22/);
    await seen(page, '#refusals-rows', 'sampling_width');
    const rows = await gateway.journal.waitForRows(4);
    const { rid } = rows.find(({ terminal }) => terminal === 'failed')!;
    await seen(page, rowOf(rid), /s ago.*engine_connection.*p0, d0.*1 attempt/);
    await seen(page, rowOf(rid), rid);
    await seen(page, '#failed', /^1$/);
    const text = await page.content();
    expect(text).not.toContain('canary');
    for (const engine of gateway.fleet.engines) expect(text).not.toContain(new URL(engine.url).host);
    expect(problems).toEqual([]);
  });

  it.each(['light', 'dark'] as const)(
    'is right for everyone in the %s theme: axe-core',
    async (colorScheme) => {
      const { url, running } = await busyGateway();
      const { page, problems } = await openPage(browser, url, { colorScheme });
      await page.getByText('The same as a table').click();
      await seen(page, rowOf('d0'), 'ejected');
      await seen(page, '#queued', /^1$/);
      const ground = await page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
      const [red = 0] = /\d+/.exec(ground)?.map(Number) ?? [];
      expect(red > 128).toBe(colorScheme === 'light');
      expect(await violations(page)).toEqual([]);
      await page.setViewportSize({ width: 320, height: 640 });
      expect(await violations(page)).toEqual([]);
      expect(problems).toEqual([]);
      await running.leave();
    },
  );

  it('fits a screen of 320 px without scrolling to the side', async () => {
    const { url, running } = await busyGateway();
    const { page } = await openPage(browser, url, { viewport: { width: 320, height: 640 } });
    await page.getByText('The same as a table').click();
    await seen(page, rowOf('d0'), 'ejected');
    await page.locator('#minutes-rows tr').first().waitFor();
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(320);
    // Nothing is cut off inside either.
    const wide = await page.evaluate(
      '[...document.querySelectorAll("main *:not(.unseen)")].filter((e) => e.getBoundingClientRect().right > 320).map((e) => e.outerHTML)',
    );
    expect(wide).toEqual([]);
    await running.leave();
  });

  it('is worked by keyboard: the skip link, the pause, the table', async () => {
    const gateway = await start();
    const { page, problems } = await openPage(browser, gateway.url);
    const focused = () => page.evaluate<string>('document.activeElement.textContent');
    await page.keyboard.press('Tab');
    expect(await focused()).toBe('Skip to the engines');
    await page.keyboard.press('Enter');
    expect(await focused()).toBe('Engines');
    await page.keyboard.press('Shift+Tab');
    expect(await focused()).toBe('The same as a table');
    await page.keyboard.press('Enter');
    expect(await page.locator('#minutes-empty').isVisible()).toBe(true);
    await page.keyboard.press('Shift+Tab');
    expect(await focused()).toBe('Pause');
    await page.keyboard.press('Space');
    expect(await page.locator('#pause').getAttribute('aria-pressed')).toBe('true');
    await seen(page, '#link', /^paused at/);
    const running = hang(gateway, 1);
    // Somebody else sees it; the page that was paused does not.
    await (await watch(gateway.url)).until(({ in_flight }) => in_flight === 1);
    expect(await page.locator('#in-flight').textContent()).toBe('0');
    await page.keyboard.press('Space');
    await seen(page, '#in-flight', /^1$/);
    await running.leave();
    expect(problems).toEqual([]);
  });

  it('says plainly that the connection is lost, and comes back by itself', async () => {
    const { url, server } = await start();
    const { page, problems } = await openPage(browser, url);
    const { port } = server.address() as AddressInfo;
    expect(await page.locator('#notice').isVisible()).toBe(false);
    server.close();
    server.closeAllConnections();
    await seen(
      page,
      '#notice',
      /^The connection to the gateway is lost\. What you see is of \d\d:\d\d:\d\d\. Trying/,
    );
    await seen(page, '#link', 'connection lost');
    await seen(page, '#news', 'The connection to the gateway is lost.');
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', () => resolve()));
    await seen(page, '#link', /^live$/);
    expect(await page.locator('#notice').isVisible()).toBe(false);
    await seen(page, '#news', 'Connected to the gateway again.');
    // The browser itself writes of each try that failed.
    expect(problems.filter((text) => !text.startsWith('Failed to load resource'))).toEqual([]);
  });

  it('says why there is no connection: closing, or too many who watch', async () => {
    const { url, router } = await start();
    const { page } = await openPage(browser, url);
    const others = await Promise.all(Array.from({ length: MAX_VIEWERS - 1 }, () => watch(url)));
    await page.reload();
    await seen(page, '#link', /^live$/);
    await page.locator('#pause').click();
    others.push(await watchWhenFree(url));
    await page.locator('#pause').click();
    await seen(page, '#notice', `${MAX_VIEWERS} people watch already`);
    for (const other of others) other.leave();
    await seen(page, '#link', /^live$/);
    await router.close();
    await seen(page, '#notice', 'The gateway is shutting down.');
  });
});
