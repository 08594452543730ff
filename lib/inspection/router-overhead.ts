/** The router's own share of a request's time. */
import type { RequestContext } from '../context';

type Span = readonly [from: number, to: number];

/**
 * Time from arrival to the whole answer in which the request waited for nobody: not for an engine (a leg in
 * flight, which is also held while the client does not read), not for the client's body, a seat, or the
 * pause before a retry.
 *
 * @returns milliseconds; null where no answer was given.
 */
export function overheadMs({ arrivedAt, settledAt, record }: RequestContext): number | null {
  if (settledAt === null) return null;
  const waits: Span[] = record.waits.slice() as Span[];
  for (const { leg, startedAt, endedAt } of record.legs) {
    // A reclaim leg runs beside the request.
    if (leg !== 'reclaim') waits.push([startedAt, endedAt ?? settledAt]);
  }
  const total = settledAt - arrivedAt - (record.queueWaitMs ?? 0);
  return Math.max(0, total - covered(waits, settledAt));
}

/** Length of the union: the legs of a list's parts run beside each other. */
function covered(spans: Span[], end: number): number {
  // Most requests note their waits in order.
  if (!isInOrder(spans)) spans.sort(([a], [b]) => a - b);
  let sum = 0;
  let reached = Number.NEGATIVE_INFINITY;
  for (const [from, to] of spans) {
    const until = Math.min(to, end);
    if (until > reached) sum += until - Math.max(from, reached);
    reached = Math.max(reached, until);
  }
  return sum;
}

function isInOrder(spans: readonly Span[]): boolean {
  for (let i = 1; i < spans.length; i++) if (spans[i]![0] < spans[i - 1]![0]) return false;
  return true;
}
