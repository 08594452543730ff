/** One event while it is merged. */
import { elementsOf, type Member, membersOf, type Span } from '../../json/raw-json';
import type { RawText } from './raw-text';
import type { Shape } from './shape';

/** A string that was appended: where it stood in the event (without quotes) and where it went. */
export interface AppendedString {
  readonly start: number;
  readonly end: number;
  readonly target: RawText;
}

/** One event, while it is merged. */
export class Merge {
  /** What stands before `text` in the event, without its opening brace: members that were merged before. */
  readonly lead: string;
  /** The event's binary text, or the part of it that is merged as an object; members are spans of it. */
  readonly text: string;
  /** How many appends the event caused. */
  appends = 0;
  lastString: AppendedString | null = null;
  readonly #shape: Shape | undefined;

  /** @param shape what is known of `text`, where it was merged before. */
  constructor(lead: string, text: string, shape?: Shape) {
    this.lead = lead;
    this.text = text;
    this.#shape = shape;
  }

  /** The members of the object that begins at `start`. */
  membersAt(start: number): readonly Member[] {
    return this.#shape?.membersOf(this.text, start) ?? membersOf(this.text, start);
  }

  /** The elements of the array that begins at `start`. */
  elementsAt(start: number): readonly Span[] {
    return this.#shape?.elementsOf(this.text, start) ?? elementsOf(this.text, start);
  }
}
