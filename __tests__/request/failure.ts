/** What a piece of code throws, as the value that a test looks at. */
import { NarwhalError } from '../../lib/errors';

/** The refusal that `act` throws; fails the test where it throws none. */
export function refusal(act: () => unknown): NarwhalError {
  let thrown: unknown = null;
  try {
    act();
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toBeInstanceOf(NarwhalError);
  return thrown as NarwhalError;
}
