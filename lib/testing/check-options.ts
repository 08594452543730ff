/** Options of a stub fleet and its scripts: a misspelt one would make a test pass without its failure. */

/**
 * @param what name of the options, for the message.
 * @throws {TypeError} naming each key that is not known.
 */
export function checkKeys(what: string, given: object, known: readonly string[]): void {
  const unknown = Object.keys(given).filter((key) => !known.includes(key));
  if (unknown.length === 0) return;
  throw new TypeError(`${what}: unknown ${unknown.join(', ')}; known are ${known.join(', ')}`);
}

/** @throws {TypeError} for anything but a whole number from 0. */
export function checkCount(what: string, value: unknown): void {
  if (value === undefined || (Number.isInteger(value) && (value as number) >= 0)) return;
  throw new TypeError(`${what} must be a whole number from 0`);
}
