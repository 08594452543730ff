/**
 * The requests of the last minutes, in fixed memory and without a timer: a bin is emptied when its place is
 * needed for a later time.
 */
import type { JournalRow } from '../../journal/row';
import { REASONS } from '../../outcomes';
import type { BinView, EndCounts, RefusalView, Spread } from './frame';
import { spreadOf, TimeCounts } from './spread';

/** Seconds of one bin. */
export const BIN_S = 5;

/** Bins that are shown: five minutes. */
const SHOWN = 60;

/** Bins of which "now" is made: a minute. */
const NOW_BINS = 12;

/** Terminals by what the page calls them. */
const KINDS = {
  completed: 'completed',
  failed: 'failed',
  expired: 'failed',
  refused: 'refused',
  rejected: 'refused',
  invalid: 'refused',
  cancelled: 'cancelled',
} as const satisfies Record<JournalRow['terminal'], keyof EndCounts>;

/** Every way to be refused, with its place in the counts. */
const REFUSALS = [...REASONS].flatMap(([reason, terminals]) =>
  terminals
    .filter((terminal) => KINDS[terminal] === 'refused')
    .map((terminal) => ({ terminal, reason, key: `${terminal} ${reason}` })),
);
const PLACES: ReadonlyMap<string, number> = new Map(REFUSALS.map(({ key }, place) => [key, place]));

/** Nobody yet. */
const NONE: EndCounts = Object.freeze({ completed: 0, failed: 0, refused: 0, cancelled: 0 });

/** How many ended how. */
class Ends {
  readonly kinds: Record<keyof EndCounts, number> = { ...NONE };
  readonly refusals = new Uint32Array(REFUSALS.length);

  note({ terminal, reason }: JournalRow): void {
    const kind = KINDS[terminal];
    this.kinds[kind]++;
    if (kind !== 'refused') return;
    const place = PLACES.get(`${terminal} ${reason}`);
    if (place !== undefined) this.refusals[place]! += 1;
  }

  clear(): void {
    Object.assign(this.kinds, NONE);
    this.refusals.fill(0);
  }
}

class Bin {
  /** Which bin since the clock's zero it is now; none at first. */
  number = -1;
  readonly ends = new Ends();
  readonly firstByte = new TimeCounts();
  readonly tokenInterval = new TimeCounts();

  reset(number: number): void {
    this.number = number;
    this.ends.clear();
    this.firstByte.clear();
    this.tokenInterval.clear();
  }
}

const EMPTY = new Bin();

/** What the last minutes were like. */
export interface HistoryView {
  readonly bins: readonly BinView[];
  readonly firstByte: Spread;
  readonly tokenInterval: Spread;
  readonly recent: EndCounts;
  readonly total: EndCounts;
  readonly refusals: readonly RefusalView[];
}

/** Counts requests by the time at which they ended. */
export class History {
  /** One more than is shown: the one that is not over yet. */
  readonly #ring = Array.from({ length: SHOWN + 1 }, () => new Bin());
  readonly #total = new Ends();

  /** Counts a request that is over. */
  note(row: JournalRow): void {
    this.#total.note(row);
    const number = binNumber(row.arrived + row.duration_s);
    const bin = this.#ring[number % this.#ring.length]!;
    if (bin.number > number) return;
    if (bin.number < number) bin.reset(number);
    bin.ends.note(row);
    if (row.terminal !== 'completed') return;
    if (row.first_byte_s !== null) bin.firstByte.note(row.first_byte_s);
    if (row.tpot_s !== null) bin.tokenInterval.note(row.tpot_s);
  }

  /** @param nowS monotonic seconds. */
  view(nowS: number): HistoryView {
    const running = binNumber(nowS);
    const bins = Array.from({ length: SHOWN + 1 }, (_, at) => this.#bin(running - SHOWN + at));
    const lately = bins.slice(-NOW_BINS - 1);
    return {
      bins: bins.slice(0, -1).map(viewOf),
      firstByte: spreadOf(lately.map(({ firstByte }) => firstByte)),
      tokenInterval: spreadOf(lately.map(({ tokenInterval }) => tokenInterval)),
      recent: sumOf(bins),
      total: { ...this.#total.kinds },
      refusals: this.#refusals(bins),
    };
  }

  #bin(number: number): Bin {
    const bin = number < 0 ? EMPTY : this.#ring[number % this.#ring.length]!;
    return bin.number === number ? bin : EMPTY;
  }

  #refusals(bins: readonly Bin[]): RefusalView[] {
    const counted = REFUSALS.map(({ terminal, reason }, place) => ({
      terminal,
      reason,
      recent: bins.reduce((sum, { ends }) => sum + ends.refusals[place]!, 0),
      total: this.#total.refusals[place]!,
    }));
    return counted.filter(({ total }) => total > 0).sort((a, b) => b.recent - a.recent || b.total - a.total);
  }
}

function binNumber(seconds: number): number {
  return Math.floor(seconds / BIN_S);
}

function viewOf({ ends, firstByte, tokenInterval }: Bin): BinView {
  const { completed, failed, refused } = ends.kinds;
  return {
    completed,
    failed,
    refused,
    first_byte: spreadOf([firstByte]),
    token_interval: spreadOf([tokenInterval]),
  };
}

function sumOf(bins: readonly Bin[]): EndCounts {
  const sum: Record<keyof EndCounts, number> = { ...NONE };
  for (const { ends } of bins) {
    for (const kind of Object.keys(sum) as (keyof EndCounts)[]) sum[kind] += ends.kinds[kind];
  }
  return sum;
}
