/** Text in chunks that follow each other, as it came from a socket: joining it would copy all of it. */

/** Looks at a part of one chunk: from `start` up to, but not including, `end`. */
export type Visit = (chunk: Buffer, start: number, end: number) => void;

/** How many bytes the chunks have. */
export function lengthOf(chunks: readonly Buffer[]): number {
  let length = 0;
  for (const chunk of chunks) length += chunk.length;
  return length;
}

/** The text in one piece; a copy only where there are several chunks. */
export function joined(chunks: readonly Buffer[]): Buffer {
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
}

/**
 * Visits the text between two places, chunk by chunk.
 *
 * @param from in bytes from the start of the whole text.
 * @param to one behind the last byte.
 */
export function visitRange(chunks: readonly Buffer[], from: number, to: number, visit: Visit): void {
  let base = 0;
  for (const chunk of chunks) {
    const start = Math.max(from - base, 0);
    const end = Math.min(to - base, chunk.length);
    if (start < end) visit(chunk, start, end);
    base += chunk.length;
    if (base >= to) return;
  }
}

/** The text between two places: a view where one chunk holds it, else a copy. */
export function textBetween(chunks: readonly Buffer[], from: number, to: number): Buffer {
  const parts: Buffer[] = [];
  visitRange(chunks, from, to, (chunk, start, end) => parts.push(chunk.subarray(start, end)));
  return joined(parts);
}
