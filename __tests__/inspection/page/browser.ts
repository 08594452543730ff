/** A real browser: Debian's chromium, or another one that is there, driven by playwright-core. */
import { accessSync, constants } from 'node:fs';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { closeLater } from '../../helpers/close-all';

const PLACES = [
  process.env['CHROMIUM_PATH'],
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

/** Path of the browser, or null. */
export function findChromium(): string | null {
  const found = PLACES.find((path) => path !== undefined && isExecutable(path));
  return found ?? null;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Starts it; the caller closes it. @throws where there is none. */
export async function launch(): Promise<Browser> {
  const executablePath = findChromium();
  if (executablePath === null) {
    throw new Error('no chromium: apt-get install chromium, or name one in CHROMIUM_PATH');
  }
  // Containers have little shared memory.
  return chromium.launch({ executablePath, args: ['--disable-dev-shm-usage'] });
}

/** A page of the browser, and what went wrong in it. */
export interface Watched {
  readonly page: Page;
  /** Errors on the console (a violation of the policy is one), uncaught ones, requests to another host. */
  readonly problems: string[];
}

/** Opens the fleet page of a gateway; closed after the test. */
export async function openPage(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
  path = '/narwhal/',
): Promise<Watched> {
  const context = closeLater(
    await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options }),
  );
  const page = await context.newPage();
  const problems: string[] = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) problems.push(message.text());
  });
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('request', (request) => {
    const to = request.url();
    if (!to.startsWith(`${url}/`) && !to.startsWith('data:')) problems.push(`asked for ${to}`);
  });
  await page.goto(url + path);
  await page.getByText('live', { exact: true }).first().waitFor();
  return { page, problems };
}
