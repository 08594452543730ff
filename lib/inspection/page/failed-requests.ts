/** The last requests that failed: what to look up in the journal. */
import type { JournalRow } from '../../journal/row';
import { isChatPath, ROUTE_PATHS } from '../../request/route';
import type { FailureView } from './frame';

/** How many are kept. */
const KEPT = 20;

type Kept = Omit<FailureView, 'age_s'> & { readonly endedS: number };

/** Keeps the last ones. */
export class FailedRequests {
  readonly #kept: Kept[] = [];

  /** Takes a request that ended as `failed` or `expired`; others are not kept. */
  note(row: JournalRow): void {
    const { rid, terminal, reason, status, attempts } = row;
    if (terminal !== 'failed' && terminal !== 'expired') return;
    this.#kept.unshift({
      rid,
      // Not the path as it was sent: the host's mount path is its own affair.
      route: isChatPath(row.route) ? ROUTE_PATHS.chat : ROUTE_PATHS.completion,
      terminal,
      reason: reason ?? '',
      status,
      attempts,
      engines: enginesOf(row),
      at: new Date(Date.parse(row.at) + row.duration_s * 1000).toISOString(),
      endedS: row.arrived + row.duration_s,
    });
    if (this.#kept.length > KEPT) this.#kept.pop();
  }

  /** @param nowS monotonic seconds. */
  view(nowS: number): FailureView[] {
    return this.#kept.map(({ endedS, ...kept }) => ({
      ...kept,
      age_s: Math.max(0, Math.round(nowS - endedS)),
    }));
  }
}

function enginesOf({
  attempt_failures: failures,
  prefill_iid: prefill,
  decode_iid: decode,
}: JournalRow): string[] {
  const named = [prefill, decode, ...failures.map(({ iid }) => iid)];
  return [...new Set(named.filter((iid) => iid !== null && iid !== ''))] as string[];
}
