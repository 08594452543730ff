/** Pure: what an engine's URL must be, and its parts. */

/** A URL taken apart, or what is wrong with it. A problem never repeats the URL: it may hold a secret. */
export type EngineUrl =
  | { readonly problem: null; readonly origin: string; readonly prefix: string }
  | { readonly problem: string };

const SHAPE = 'must be an http(s) URL';
const BRACKETS = `${SHAPE}; an IPv6 address stands in brackets, as in http://[::1]:8000`;
/** Two colons in a row, or three and more in all, with no bracket: an address without its brackets. */
const BARE_IPV6 = /^(?:https?:\/\/)?(?=[0-9a-f:.]*(?:::|:[0-9a-f]*:[0-9a-f]*:))[0-9a-f:.]+(?:%\w+)?(?:\/|$)/i;
/** The paths that the router itself adds after the prefix. */
const OWN_PATH = /\/v1(?:\/completions|\/chat\/completions)?$/i;

/**
 * @param text the URL, with any variable already resolved.
 * @returns `origin` (scheme, host, port; a default port is left out) and `prefix` (path without a
 * trailing slash, empty where there is none), or the problem.
 */
export function parseEngineUrl(text: string): EngineUrl {
  // The URL parser drops tabs and line ends without a word, and turns a backslash into a slash.
  if (/[\s\\]/.test(text) || hasControl(text)) {
    return { problem: `${SHAPE}, without blanks, control characters or backslashes` };
  }
  if (BARE_IPV6.test(text)) return { problem: BRACKETS };
  const match = /^https?:\/\/([^/?#]+)/i.exec(text);
  if (match === null) return { problem: `${SHAPE}, such as http://10.0.0.1:8000` };
  if (match[1]!.includes('@')) {
    return {
      problem: 'must not hold credentials; name the variable with the key in engine.engine_api_key_env',
    };
  }
  if (text.includes('?')) return { problem: 'must not hold a query string' };
  if (text.includes('#')) return { problem: 'must not hold a fragment' };
  if (!URL.canParse(text)) return { problem: `${SHAPE} with a valid host and port` };
  const url = new URL(text);
  if (url.port === '0') return { problem: 'must not name port 0' };
  const prefix = url.pathname.replace(/\/+$/, '');
  if (OWN_PATH.test(prefix)) return { problem: 'leave out /v1 and what follows: the router adds it' };
  return { problem: null, origin: url.origin, prefix };
}

function hasControl(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x20 || unit === 0x7f) return true;
  }
  return false;
}
