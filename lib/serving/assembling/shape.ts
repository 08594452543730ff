/** What is known of one event that every answer has, in the same words or but for one string. */
import { elementsOf, type Member, membersOf, type Span } from '../../json/raw-json';
import type { ChunkFacts } from '../chunk';
import type { Frame } from './frame';

/** An event's text that has been read once: known to be JSON, with its parts where they were found. */
export class Shape {
  readonly #members = new Map<number, readonly Member[]>();
  readonly #elements = new Map<number, readonly Span[]>();
  #hasOneChoice: boolean | null = null;

  constructor(
    readonly text: string,
    readonly facts: ChunkFacts,
  ) {}

  get hasOneChoice(): boolean {
    this.#hasOneChoice ??= choicesIn(this.text) === 1;
    return this.#hasOneChoice;
  }

  membersOf(text: string, start: number): readonly Member[] {
    return remembered(this.#members, membersOf, text, start);
  }

  elementsOf(text: string, start: number): readonly Span[] {
    return remembered(this.#elements, elementsOf, text, start);
  }
}

/** What `read` finds in the text at a place, read once for each place. */
function remembered<T>(
  known: Map<number, T>,
  read: (text: string, at: number) => T,
  text: string,
  at: number,
): T {
  let found = known.get(at);
  if (found === undefined) {
    found = read(text, at);
    known.set(at, found);
  }
  return found;
}

/** What an event says that is the same but for one string that is not empty. */
export class FramedFacts {
  readonly hasOneChoice: boolean;

  constructor(
    readonly frame: Frame,
    readonly facts: ChunkFacts,
  ) {
    this.hasOneChoice = choicesIn(`${frame.open}${frame.close}`) === 1;
  }
}

/** Choices of an event that is known to be JSON. */
function choicesIn(text: string): number {
  const { choices } = JSON.parse(text) as { choices?: unknown };
  return Array.isArray(choices) ? choices.length : 0;
}
