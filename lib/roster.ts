/**
 * What is here now, in the order in which it came: requests that run, calls that wait.
 *
 * A `Set` or `Map` that lives as long as the process would do the same, and costs much more than it shows. Every few
 * entries it gets a new table, and the old one still names what it held and the table that follows it. Once one table
 * has moved to V8's old generation all later ones are made there, so that each request that was ever in it is kept,
 * with all that hangs on it, until the next full collection: young collections then took 4 ms in place of 1
 * (20 to 30 us of a small request, and half of its p99; `npm run bench -- json`). A place that was left names nobody.
 */

/** A place on a roster. Only its roster changes it. */
export interface Place<T> {
  readonly value: T;
}

class Link<T> implements Place<T> {
  before: Link<T> | null = null;
  after: Link<T> | null = null;
  roster: Roster<T> | null;

  constructor(
    readonly value: T,
    roster: Roster<T>,
  ) {
    this.roster = roster;
  }
}

/** A list that is left in any order, at the same cost. */
export class Roster<T> implements Iterable<T> {
  #first: Link<T> | null = null;
  #last: Link<T> | null = null;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** What came first of all that is here. */
  get first(): Place<T> | null {
    return this.#first;
  }

  /** What came last. */
  get last(): Place<T> | null {
    return this.#last;
  }

  /** @returns the place, by which it leaves. */
  add(value: T): Place<T> {
    const link = new Link(value, this);
    const last = this.#last;
    link.before = last;
    if (last === null) this.#first = link;
    else last.after = link;
    this.#last = link;
    this.#size++;
    return link;
  }

  /** @returns false where the place is none of this roster, or was left before. */
  remove(place: Place<T>): boolean {
    if (!(place instanceof Link) || place.roster !== this) return false;
    const { before, after } = place as Link<T>;
    if (before === null) this.#first = after;
    else before.after = after;
    if (after === null) this.#last = before;
    else after.before = before;
    place.before = null;
    place.after = null;
    place.roster = null;
    this.#size--;
    return true;
  }

  /** What was here when the walk began, less what has left before it was reached. */
  *[Symbol.iterator](): Generator<T, void, undefined> {
    const links: Link<T>[] = [];
    for (let link = this.#first; link !== null; link = link.after) links.push(link);
    for (const link of links) if (link.roster === this) yield link.value;
  }
}
