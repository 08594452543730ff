/** The words in which a draft tells the events of an answer. */
import type { FramedFacts, Shape } from './shape';

/** Where the head of an event ends: what stands before it is much the same in all events of an answer. */
export const CHOICES = '"choices"';

/** The event that states the usage, and nothing else. */
export const USAGE = 'usage';

/** What one event is known as: the same text as before, the same but for one string, or the usage. */
export type Step = Shape | FramedFacts | typeof USAGE;

/** What stands around the id and the time in the head of an event. */
export interface HeadFrame {
  /** The text between the two, and behind the second. */
  readonly between: string;
  readonly rest: string;
}

/** The head of an event. */
export interface Head extends HeadFrame {
  readonly id: string;
  readonly created: string;
}
