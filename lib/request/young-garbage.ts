/**
 * Has long bodies collected while they are young.
 *
 * Bodies stand outside of V8's heap. Reading a long one leaves next to nothing inside, and the young generation is
 * collected when it is full: the dead bodies of hundreds of requests wait for that, V8 takes them for growth of the
 * old generation, and collects all of it, every 200 requests of 100 KB (8 ms each time, and as much on other
 * threads). Garbage of a body's size inside makes the young generation as old as it looks from outside, and it is
 * collected in time: a seventh of the CPU of such a request, and half of its p99 (`npm run bench -- prompts`).
 */

/** Elements of 8 bytes: 64 KB, which is still a normal object of the young generation. */
const PIECE_LENGTH = 8184;
const PIECE_BYTES = 8 * PIECE_LENGTH;
/** Longer bodies bring the full collection on whatever is done here. */
const MOST_BYTES = 256 * 1024;

/** A place that the compiler cannot see through: an array that nobody could look at would not be made. */
const held: { piece: unknown } = { piece: null };

/** Leaves garbage for a body of this many bytes. */
export function leaveYoungGarbage(bytes: number): void {
  for (let left = Math.min(bytes, MOST_BYTES); left > 0; left -= PIECE_BYTES) {
    held.piece = new Array(PIECE_LENGTH);
  }
  held.piece = null;
}
