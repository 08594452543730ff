/** An engine's `Retry-After`, made safe. */

/** `Date.parse` takes almost anything for a date: a word with a number behind it is in the year 2001. */
const STARTS_WITH_DAY = /^(mon|tue|wed|thu|fri|sat|sun)/i;

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
  const seconds = /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : (dateOf(text) - now) / 1000;
  if (Number.isNaN(seconds)) return undefined;
  return Math.min(Math.max(seconds, 0), MAX_S);
}

/** The three forms of an HTTP date; the oldest one has no zone, and means GMT as well. */
function dateOf(text: string): number {
  if (!STARTS_WITH_DAY.test(text)) return Number.NaN;
  return Date.parse(text.endsWith('GMT') ? text : `${text} GMT`);
}
