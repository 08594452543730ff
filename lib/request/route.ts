/** Which of the two completion routes a request is for. */
import type { ParsedBody } from './parsed-body';
import type { Route } from './schema';

/** Paths of the routes, as clients and engines know them. */
export const ROUTE_PATHS: Readonly<Record<Route, string>> = Object.freeze({
  completion: '/v1/completions',
  chat: '/v1/chat/completions',
});

/** The path of a request target: what stands before its query string. */
export function pathOf(target: string): string {
  const query = target.indexOf('?');
  return query === -1 ? target : target.slice(0, query);
}

/** A path without the slash at its end; `/` stays. */
export function withoutSlash(path: string): string {
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
}

/** Whether a path under whatever mount is that of the chat route. */
export function isChatPath(path: string): boolean {
  return path.endsWith('/chat/completions');
}

/**
 * The route of a path below the router's mount point.
 *
 * @param path without the query string; a trailing slash is accepted.
 * @returns null for every other path.
 */
export function routeOf(path: string): Route | null {
  const bare = withoutSlash(path);
  if (bare === ROUTE_PATHS.chat) return 'chat';
  return bare === ROUTE_PATHS.completion ? 'completion' : null;
}

/**
 * The route of a request under whatever path the host has mounted a middleware: told by the end of the
 * path, else by the body.
 */
export function guessRoute(path: string, { outline }: ParsedBody): Route {
  if (isChatPath(path)) return 'chat';
  if (path.endsWith('/completions')) return 'completion';
  return Object.hasOwn(outline, 'messages') ? 'chat' : 'completion';
}
