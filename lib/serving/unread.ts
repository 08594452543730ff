/** An answer that its client does not read must not keep a seat, or memory, for good. */
import type { ServerResponse } from 'node:http';

/** How long the end of an answer may take to leave after the request's deadline. */
const FLUSH_MS = 1000;

/**
 * Closes the connection of a client that has not taken the rest of an ended answer by the request's deadline
 * and a second more. Costs nothing where all of it is on its way already.
 *
 * @param deadline monotonic ms at which the whole request ends.
 */
export function cutUnread(res: ServerResponse, deadline: number): void {
  if (!res.writableEnded || res.writableLength === 0 || res.closed) return;
  const left = Math.max(0, deadline - performance.now());
  const timer = setTimeout(() => res.destroy(), left + FLUSH_MS);
  timer.unref();
  res.once('close', () => clearTimeout(timer));
}
