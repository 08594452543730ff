/** The words in which a draft tells the events of an answer. */
import type { FramedFacts, Shape } from './shape';

/** The event that states the usage, and nothing else. */
export const USAGE = 'usage';

/** What one event is known as: the same text as before, the same but for one string, or the usage. */
export type Step = Shape | FramedFacts | typeof USAGE;

/** What stands before `choices` in an event. */
export interface Head {
  readonly id: string;
  readonly created: string;
  /** The text between the two, and behind the second. */
  readonly between: string;
  readonly rest: string;
}
