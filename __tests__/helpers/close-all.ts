/** Closes what a test has opened, last opened first, whatever the outcome of the test. */

/** Anything that ends with `close()`. */
export interface Closable {
  close(): unknown;
}

const opened: Closable[] = [];

/**
 * Closes `thing` after the running test. Importing this file is enough: the hook is set here.
 *
 * @returns the thing itself.
 */
export function closeLater<T extends Closable>(thing: T): T {
  opened.push(thing);
  return thing;
}

afterEach(async () => {
  const faults: unknown[] = [];
  for (let thing = opened.pop(); thing !== undefined; thing = opened.pop()) {
    try {
      await thing.close();
    } catch (error) {
      faults.push(error);
    }
  }
  if (faults.length > 0) throw faults[0];
});
