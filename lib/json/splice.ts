/** The text of an object with some members replaced, and every other byte as the client wrote it. */
import { visitRange } from './chunks';
import type { Member } from './members';

/** What becomes of a member: new JSON text for its value, null to leave it out, undefined to leave it as it is. */
export type Edit = string | Buffer | null | undefined;

const OPEN = Buffer.from('{');
const CLOSE = Buffer.from('}');
const COMMA = Buffer.from(',');

/**
 * Replaces, removes and appends members of one object.
 *
 * A member without an edit is copied with the white space and the comma between it and a kept
 * neighbour. A replaced member keeps its key text and its place. A name that is not in the object is
 * appended at the end, in the order of the map. Where an edited name occurs twice, the first
 * occurrence takes the edit and the later ones are left out.
 *
 * @param bytes the buffer that holds the object, which may be a part of a larger text.
 * @param members what `objectMembers` found for this object.
 * @param edits by decoded name; a value must be valid JSON text.
 * @returns the text of the object alone, from its opening to its closing brace.
 */
export function splice(bytes: Buffer, members: readonly Member[], edits: ReadonlyMap<string, Edit>): Buffer {
  return piecesOf([bytes], members, edits).join();
}

/**
 * As `splice`, for text in chunks and without copying what is long: the text is in the parts, one after another, and
 * the long ones are views of `chunks`. A 100 KB prompt is not copied for each leg, which also leaves the collector half
 * the work (`npm run bench -- prompts`).
 */
export function spliceParts(
  chunks: readonly Buffer[],
  members: readonly Member[],
  edits: ReadonlyMap<string, Edit>,
): readonly Buffer[] {
  return piecesOf(chunks, members, edits).parts();
}

function piecesOf(
  chunks: readonly Buffer[],
  members: readonly Member[],
  edits: ReadonlyMap<string, Edit>,
): Pieces {
  const text = new Pieces(chunks);
  text.add(OPEN);
  /** Edited names that have their place. */
  const placed: string[] = [];
  // The bytes that are kept in one piece and not yet in `text`; none while `runStart` is -1.
  let runStart = -1;
  let runEnd = 0;
  for (const member of members) {
    const edit = edits.get(member.name);
    if (edit === null || (edit !== undefined && placed.includes(member.name))) {
      if (runStart !== -1) text.keep(runStart, runEnd);
      runStart = -1;
      continue;
    }
    if (runStart === -1) {
      text.separate();
      runStart = member.keyStart;
    }
    if (edit !== undefined) {
      placed.push(member.name);
      text.keep(runStart, member.valueStart);
      text.add(textOf(edit));
      runStart = member.valueEnd;
    }
    runEnd = member.valueEnd;
  }
  if (runStart !== -1) text.keep(runStart, runEnd);
  // By keys: a pair for each entry would be 2 KB of garbage for each request.
  for (const name of edits.keys()) {
    const edit = edits.get(name);
    if (edit === null || edit === undefined || placed.includes(name)) continue;
    text.addKey(name);
    text.add(textOf(edit));
  }
  text.add(CLOSE);
  return text;
}

/** A piece from this size on is not worth a copy. */
const LONG = 8 * 1024;

/**
 * Parts of the source and new parts, joined by one copy each. Offsets are noted instead of slices made: a
 * `subarray` costs more than the copy of a short part (`npm run bench -- json`, 6 us for the two legs).
 */
class Pieces {
  readonly #source: readonly Buffer[];
  readonly #parts: Buffer[] = [];
  readonly #from: number[] = [];
  readonly #to: number[] = [];
  #length = 0;

  constructor(source: readonly Buffer[]) {
    this.#source = source;
  }

  add(part: Buffer): void {
    this.#note(part, 0, part.length);
  }

  /** A key of our own, with the comma before it where there is something before it. */
  addKey(name: string): void {
    const key = keyOf(name);
    this.#note(key, this.#parts.length > 1 ? 0 : COMMA.length, key.length);
  }

  /** Keeps the bytes of the source from `from` up to, not including, `to`. */
  keep(from: number, to: number): void {
    const [only] = this.#source;
    if (this.#source.length === 1) this.#note(only!, from, to);
    else visitRange(this.#source, from, to, (chunk, start, end) => this.#note(chunk, start, end));
  }

  /** A comma, unless nothing stands behind the opening brace yet. */
  separate(): void {
    if (this.#parts.length > 1) this.add(COMMA);
  }

  join(): Buffer {
    return this.#copy(0, this.#parts.length, this.#length);
  }

  /** Long pieces as views, short ones between them joined. */
  parts(): Buffer[] {
    const parts: Buffer[] = [];
    let first = 0;
    let length = 0;
    for (let i = 0; i <= this.#parts.length; i++) {
      const size = i === this.#parts.length ? LONG : this.#to[i]! - this.#from[i]!;
      if (size < LONG) {
        length += size;
        continue;
      }
      if (length > 0) parts.push(this.#copy(first, i, length));
      if (i < this.#parts.length) parts.push(this.#parts[i]!.subarray(this.#from[i], this.#to[i]));
      first = i + 1;
      length = 0;
    }
    return parts;
  }

  #copy(first: number, end: number, length: number): Buffer {
    const whole = Buffer.allocUnsafe(length);
    let at = 0;
    for (let i = first; i < end; i++) at += this.#parts[i]!.copy(whole, at, this.#from[i], this.#to[i]);
    return whole;
  }

  #note(part: Buffer, from: number, to: number): void {
    this.#parts.push(part);
    this.#from.push(from);
    this.#to.push(to);
    this.#length += to - from;
  }
}

/** Keys that were appended before, written, each behind a comma: callers append a handful of names of their own. */
const KEYS = new Map<string, Buffer>();

function keyOf(name: string): Buffer {
  let key = KEYS.get(name);
  if (key === undefined) {
    key = Buffer.from(`,${JSON.stringify(name)}:`);
    if (KEYS.size < 64) KEYS.set(name, key);
  }
  return key;
}

function textOf(edit: string | Buffer): Buffer {
  return typeof edit === 'string' ? Buffer.from(edit) : edit;
}
