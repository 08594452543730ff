/** Options of a stub fleet and its scripts: a misspelt one would make a test pass without its failure. */

/**
 * @param what name of the options, for the message.
 * @throws {TypeError} naming each key that is not known, and the nearest one that is.
 */
export function checkKeys(what: string, given: object, known: readonly string[]): void {
  const unknown = Object.keys(given).filter((key) => !known.includes(key));
  if (unknown.length === 0) return;
  const hints = unknown.map((key) => {
    const near = nearest(key, known);
    return near === undefined ? key : `${key} (did you mean ${near}?)`;
  });
  throw new TypeError(`${what}: unknown ${hints.join(', ')}; known are ${known.join(', ')}`);
}

/** The known word that shares the most pairs of letters with `word`, if that is at least half of them. */
function nearest(word: string, known: readonly string[]): string | undefined {
  const scored = known.map((candidate) => ({ candidate, score: likeness(word, candidate) }));
  const best = scored.reduce((a, b) => (b.score > a.score ? b : a));
  return best.score >= 0.5 ? best.candidate : undefined;
}

/** From 0 to 1: the share of pairs of neighbouring letters that two words have in common. */
function likeness(a: string, b: string): number {
  const [first, second] = [pairsOf(a), pairsOf(b)];
  const shared = [...first].filter((pair) => second.has(pair)).length;
  return (2 * shared) / (first.size + second.size);
}

/** The ends count as letters, so that short words have pairs enough. */
function pairsOf(word: string): Set<string> {
  const text = `^${word.toLowerCase()}$`;
  return new Set(Array.from({ length: text.length - 1 }, (_, at) => text.slice(at, at + 2)));
}

/** @throws {TypeError} for anything but a whole number from 0. */
export function checkCount(what: string, value: unknown): void {
  if (value === undefined || (Number.isInteger(value) && (value as number) >= 0)) return;
  throw new TypeError(`${what} must be a whole number from 0`);
}
