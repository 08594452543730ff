/** How many requests ended how: one plain array over every combination that there can be. */
import type { JournalRow } from '../journal/row';
import { REASONS, type Terminal } from '../outcomes';
import { isChatPath, ROUTE_PATHS } from '../request/route';
import type { Sample } from './collected';

/** Every terminal, the good one first. */
export const TERMINALS: readonly Terminal[] = [
  'completed',
  'failed',
  'expired',
  'refused',
  'rejected',
  'invalid',
  'cancelled',
];

/** Values of the label `stream`; `unknown` where the body was not read. */
const STREAM = ['false', 'true', 'unknown'] as const;

/** The label `reason` of a completed request. */
const NO_REASON = 'none';

const ROUTES = [ROUTE_PATHS.chat, ROUTE_PATHS.completion];

/** Every pair of terminal and reason. */
const ENDS: readonly (readonly [Terminal, string])[] = [
  ['completed', NO_REASON],
  ...[...REASONS].flatMap(([reason, terminals]) => terminals.map((terminal) => [terminal, reason] as const)),
];

const PLACES: ReadonlyMap<string, number> = new Map(ENDS.map((end, place) => [end.join(' '), place]));

/** Where a pair that the table of outcomes has not is counted: it would be a bug of the router. */
const UNKNOWN_END = PLACES.get('failed internal')!;

/** Counts of requests. */
export class RequestCounts {
  readonly #counts = new Float64Array(ROUTES.length * STREAM.length * ENDS.length);

  count({ route, stream, terminal, reason }: JournalRow): void {
    const routeAt = isChatPath(route) ? 0 : 1;
    const streamAt = stream === null ? 2 : Number(stream);
    const endAt = PLACES.get(`${terminal} ${reason ?? NO_REASON}`) ?? UNKNOWN_END;
    this.#counts[placeOf(routeAt, streamAt, endAt)]! += 1;
  }

  /** Every combination, also those that did not happen: a series that appears late has no rate. */
  samples(): Sample[] {
    return ROUTES.flatMap((route, routeAt) =>
      STREAM.flatMap((stream, streamAt) =>
        ENDS.map(([terminal, reason], endAt) => ({
          labels: { route, stream, terminal, reason },
          value: this.#counts[placeOf(routeAt, streamAt, endAt)]!,
        })),
      ),
    );
  }
}

function placeOf(route: number, stream: number, end: number): number {
  return (route * STREAM.length + stream) * ENDS.length + end;
}
