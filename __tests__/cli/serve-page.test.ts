/** `narwhal serve --page`: the fleet page on both ports, and over a new fleet file. */
import { call } from '../helpers/call';
import { openStubFleet } from '../helpers/open-stub-fleet';
import { watch } from '../inspection/page/watcher';
import { serve, writeFleet } from './served';

const FORWARDED = { 'x-forwarded-for': '192.0.2.1' };

async function statusOf(url: string, headers: Record<string, string> = {}): Promise<number> {
  return (await call(url, { method: 'HEAD', headers })).status;
}

describe('narwhal serve --page', () => {
  test('says where the page is, and shows it to this machine only', async () => {
    const served = await serve(await openStubFleet(), ['--page', '--no-journal']);
    expect(served.stdout()).toContain(`; page ${served.url}/narwhal/; `);
    expect(await statusOf(`${served.url}/narwhal`)).toBe(302);
    expect(await statusOf(`${served.url}/narwhal/`)).toBe(200);
    expect(await statusOf(`${served.url}/narwhal/`, FORWARDED)).toBe(404);
    expect(await statusOf(`${served.url}/narwhal/events`, FORWARDED)).toBe(404);
  });

  test('has it on the second port for everyone', async () => {
    const { metricsUrl } = await serve(await openStubFleet(), [
      '--page',
      '--metrics-port',
      '0',
      '--no-journal',
    ]);
    expect(await statusOf(`${metricsUrl}/narwhal`, FORWARDED)).toBe(302);
    expect(await statusOf(`${metricsUrl}/narwhal/`, FORWARDED)).toBe(200);
    const { until } = await watch(metricsUrl, FORWARDED);
    expect(await until(() => true)).toMatchObject({ status: 'serving' });
  });

  test('is what it takes: without it there is no page', async () => {
    const { url, metricsUrl } = await serve(await openStubFleet(), ['--metrics-port', '0', '--no-journal']);
    for (const base of [url, metricsUrl]) {
      for (const path of ['/narwhal', '/narwhal/', '/narwhal/events']) {
        expect([path, await statusOf(base + path)]).toEqual([path, 404]);
      }
    }
  });

  test('sends those who watch over to the fleet of a new file', async () => {
    const served = await serve(await openStubFleet(), ['--page', '--no-journal']);
    const before = await watch(served.url);
    expect((await before.until(() => true)).engines).toHaveLength(2);
    writeFleet(served.folder, await openStubFleet({ decode: 3 }));
    await before.ended;
    const after = await watch(served.url);
    expect((await after.until(() => true)).engines).toHaveLength(4);
    expect(await served.stop()).toBe(0);
    await after.ended;
  });
});
