/** An engine's `Retry-After`, made safe. */

/** Longest time for which an engine can ask to be left alone. */
const MAX_S = 60;

/**
 * Reads a `Retry-After` header: seconds or an HTTP date (RFC 9110, section 10.2.3).
 *
 * @param now wall clock, ms.
 * @returns seconds from 0 to 60; undefined for an absent or unreadable header.
 */
export function retryAfterSeconds(header: string | string[] | undefined, now: number): number | undefined {
  const text = (Array.isArray(header) ? header[0] : header)?.trim();
  if (text === undefined || text === '') return undefined;
  const seconds = /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : (Date.parse(text) - now) / 1000;
  if (Number.isNaN(seconds)) return undefined;
  return Math.min(Math.max(seconds, 0), MAX_S);
}
