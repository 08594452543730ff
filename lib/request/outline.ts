/**
 * Reads a long body without making its long strings. Nothing here looks into a prompt, so that parsing it would
 * be for nothing: half of the CPU that a prompt of 100 KB costs, and twice its size in garbage
 * (`npm run bench -- prompts`).
 */
import { joined, lengthOf, visitRange } from '../json/chunks';
import { longStrings } from '../json/long-strings';
import { hasDuplicates, type Member, objectMembers, type Span } from '../json/members';
import { parseObject } from '../json/parse-object';
import { ParsedBody } from './parsed-body';
import { leaveYoungGarbage } from './young-garbage';

/** A body that is shorter is parsed faster than it is cut. */
export const LONG_BODY_BYTES = 16 * 1024;

/** What stands in the outline for a long string. It is no empty one: whether there is a prompt is asked. */
const SHORT = '...';
const SHORT_TEXT = Buffer.from(JSON.stringify(SHORT));
const MANY_CUTS = 64;
const COLON = 0x3a;
const SPACE = 0x20;

/**
 * Reads a body whose long strings are most of it.
 *
 * The text is JSON exactly when its strings are and the text with other strings in their places is: strings are
 * checked where they stand, and the rest is parsed with short ones.
 *
 * @param chunks UTF-8.
 * @returns null for every text that is not plainly good, and for one that has nothing to save: it has to be read
 *   in whole, by which its faults are named.
 */
export function outlinedBody(chunks: readonly Buffer[]): ParsedBody | null {
  const cuts = longStrings(chunks);
  const length = lengthOf(chunks);
  if (cuts === null || !areMost(cuts, length)) return null;
  const text = shortened(chunks, cuts);
  if (text === null) return null;
  const outline = parseObject(text);
  // A model of that name is compared with those that are served.
  if (outline === null || outline['model'] === SHORT) return null;
  const members = objectMembers(text);
  if (hasDuplicates(members)) return null;
  leaveYoungGarbage(length);
  return new ParsedBody({ chunks, outline, value: null, members: moved(members, cuts) });
}

function areMost(cuts: readonly Span[], length: number): boolean {
  let saved = 0;
  for (const { start, end } of cuts) saved += end - start;
  return 2 * saved > length;
}

/** The text with short strings for the long ones; null where a key is one of them: it must stay what it is. */
function shortened(given: readonly Buffer[], cuts: readonly Span[]): Buffer | null {
  // Each cut walks the chunks from the first one: many cuts want one chunk.
  const chunks = cuts.length > MANY_CUTS ? [joined(given)] : given;
  const parts: Buffer[] = [];
  let at = 0;
  const keepUpTo = (end: number) => {
    visitRange(chunks, at, end, (chunk, from, to) => parts.push(chunk.subarray(from, to)));
  };
  for (const { start, end } of cuts) {
    keepUpTo(start);
    parts.push(SHORT_TEXT);
    at = end;
  }
  keepUpTo(lengthOf(chunks));
  const text = Buffer.concat(parts);
  return hasShortKey(text, cuts) ? null : text;
}

function hasShortKey(text: Buffer, cuts: readonly Span[]): boolean {
  let moved = 0;
  for (const { start, end } of cuts) {
    moved += end - start - SHORT_TEXT.length;
    let at = end - moved;
    // White space is all there is below a space: the rest is refused when it is parsed.
    while (text[at]! <= SPACE) at++;
    if (text[at] === COLON) return true;
  }
  return false;
}

/** From places in the shortened text to those in the client's. */
function moved(members: readonly Member[], cuts: readonly Span[]): Member[] {
  let next = 0;
  let by = 0;
  // Asked for rising places only: each cut is stepped over once.
  const place = (at: number): number => {
    for (; next < cuts.length && cuts[next]!.start < at + by; next++) {
      by += cuts[next]!.end - cuts[next]!.start - SHORT_TEXT.length;
    }
    return at + by;
  };
  return members.map(({ name, keyStart, valueStart, valueEnd }) => ({
    name,
    keyStart: place(keyStart),
    valueStart: place(valueStart),
    valueEnd: place(valueEnd),
  }));
}
