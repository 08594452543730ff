/** Who may see the private pages. */
import type { IncomingMessage } from 'node:http';
import { ConfigError } from '../errors';
import { checkFunction, checkOptions } from '../options';
import type { InspectionOptions, InspectionPage } from './options';

/** Pages that may be made public. Changing requests may not. */
const PUBLIC_PAGES: readonly InspectionPage[] = ['metrics', 'state'];

/** Whether a request may see a page; `engines` are the changing requests, `page` is the fleet page. */
export type Visibility = (page: InspectionPage | 'engines' | 'page', req: IncomingMessage) => boolean;

/** @throws {ConfigError} for bad options. */
export function visibility(options: InspectionOptions | false | undefined): Visibility {
  if (options === false) return () => false;
  const given = checkOptions<InspectionOptions>('inspection', options, ['public', 'guard', 'page']);
  const open: readonly string[] = given.public ?? [];
  for (const page of open) {
    if (!(PUBLIC_PAGES as readonly string[]).includes(page)) {
      throw new ConfigError(`inspection: public may list ${PUBLIC_PAGES.join(', ')}`);
    }
  }
  const guard = given.guard === undefined ? isLocal : checkFunction('inspection: guard', given.guard);
  return (page, req) => open.includes(page) || guard(req) === true;
}

const FORWARDING = [
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-real-ip',
  'cf-connecting-ip',
  'true-client-ip',
  'via',
];

/** Names of this machine in a `Host` header. */
const OWN_NAMES = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/i;

/**
 * A connection of this machine that no proxy has passed on, and that no web page has made: a page whose
 * name was pointed at this machine still sends its own name as `Host`.
 */
export function isLocal({ socket, headers }: IncomingMessage): boolean {
  const address = socket.remoteAddress ?? '';
  const loopback = address === '::1' || address.startsWith('127.') || address.startsWith('::ffff:127.');
  if (!loopback || FORWARDING.some((name) => headers[name] !== undefined)) return false;
  const site = headers['sec-fetch-site'];
  return (
    OWN_NAMES.test(headers.host ?? 'localhost') &&
    (site === undefined || site === 'same-origin' || site === 'none')
  );
}
