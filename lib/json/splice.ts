/** The text of an object with some members replaced, and every other byte as the client wrote it. */
import type { Member } from './members';

/** What becomes of a member: new JSON text for its value, or null to leave the member out. */
export type Edit = string | Buffer | null;

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
  const parts: Buffer[] = [OPEN];
  const placed = new Set<string>();
  // The bytes that are kept in one piece and not yet in `parts`; empty while `runStart` is null.
  let runStart: number | null = null;
  let runEnd = 0;
  for (const member of members) {
    const edit = edits.get(member.name);
    if (edit === null || placed.has(member.name)) {
      if (runStart !== null) parts.push(bytes.subarray(runStart, runEnd));
      runStart = null;
      continue;
    }
    if (runStart === null) {
      separate(parts);
      runStart = member.keyStart;
    }
    if (edit !== undefined) {
      placed.add(member.name);
      parts.push(bytes.subarray(runStart, member.valueStart), textOf(edit));
      runStart = member.valueEnd;
    }
    runEnd = member.valueEnd;
  }
  if (runStart !== null) parts.push(bytes.subarray(runStart, runEnd));
  for (const [name, edit] of edits) {
    if (edit === null || placed.has(name)) continue;
    separate(parts);
    parts.push(keyOf(name), textOf(edit));
  }
  parts.push(CLOSE);
  return Buffer.concat(parts);
}

/** Keys that were appended before, written: callers append a handful of names of their own. */
const KEYS = new Map<string, Buffer>();

function keyOf(name: string): Buffer {
  let key = KEYS.get(name);
  if (key === undefined) {
    key = Buffer.from(`${JSON.stringify(name)}:`);
    if (KEYS.size < 64) KEYS.set(name, key);
  }
  return key;
}

/** A comma, unless nothing stands behind the opening brace yet. */
function separate(parts: Buffer[]): void {
  if (parts.length > 1) parts.push(COMMA);
}

function textOf(edit: string | Buffer): Buffer {
  return typeof edit === 'string' ? Buffer.from(edit) : edit;
}
