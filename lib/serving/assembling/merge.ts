/** One event while it is merged, and what is known of events that every answer has. */
import { elementsOf, kindAt, type Member, membersOf, type Span, skipSpace } from '../../json/raw-json';
import type { ChunkFacts } from '../chunk';
import { Frame } from './frame';
import type { RawText } from './raw-text';

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

/** An event's text that has been read once: known to be JSON, with its parts where they were found. */
export class Shape {
  readonly #members = new Map<number, readonly Member[]>();
  readonly #elements = new Map<number, readonly Span[]>();

  constructor(
    readonly text: string,
    readonly facts: ChunkFacts,
  ) {}

  membersOf(text: string, start: number): readonly Member[] {
    let members = this.#members.get(start);
    if (members === undefined) {
      members = membersOf(text, start);
      this.#members.set(start, members);
    }
    return members;
  }

  elementsOf(text: string, start: number): readonly Span[] {
    let elements = this.#elements.get(start);
    if (elements === undefined) {
      elements = elementsOf(text, start);
      this.#elements.set(start, elements);
    }
    return elements;
  }
}

/** Texts that are kept, and the longest of them. */
const MOST = 64;
const LONGEST = 512;
/** Frames that are kept: an engine has one for its content, another for its reasoning. */
const MOST_FRAMES = 4;

/** What an event says that is the same but for one string that is not empty. */
interface FramedFacts {
  readonly frame: Frame;
  readonly facts: ChunkFacts;
}

/**
 * Events that say the same in every answer, but for the id before their choices: the role, the finish reason.
 * They are parsed once and not for each request (7 us of a small one; `npm run bench -- json`).
 *
 * Text of an answer is never kept: only what appended nothing and states no usage, and of an event with one
 * string what stands around it.
 */
export class EventShapes {
  /** The oldest first. Few: comparing lengths takes a fifth of what hashing a text does, which is new each time. */
  readonly #known: Shape[] = [];
  #framed: readonly FramedFacts[] = [];
  /** The latest head of an event. Its members stand where those of the next one do. */
  #head: { readonly frame: Frame; readonly shape: Shape } | null = null;

  /** What the event says, where another differed from it in nothing but its one string. */
  factsOf(text: string): ChunkFacts | undefined {
    // An empty string and null are another matter: only what was filled is known to be output.
    return this.#framed.find(({ frame }) => (frame.inside(text) ?? '') !== '')?.facts;
  }

  find(text: string): Shape | undefined {
    return text.length > LONGEST ? undefined : this.#known.find((shape) => isSame(shape.text, text));
  }

  /** Keeps what was found out, where it may be of use again. */
  keep({ text, appends, lastString }: Merge, facts: ChunkFacts): void {
    if (appends === 1 && lastString !== null && facts.usage === null) {
      const frame = new Frame(text.slice(0, lastString.start), text.slice(lastString.end));
      if (frame.open.length + frame.close.length > LONGEST) return;
      this.#framed = [{ frame, facts }, ...this.#framed.slice(0, MOST_FRAMES - 1)];
      return;
    }
    if (appends > 0 || facts.usage !== null || text.length > LONGEST) return;
    // The oldest goes: one that is common comes back at once.
    if (this.#known.length >= MOST) this.#known.shift();
    this.#known.push(new Shape(text, facts));
  }

  /**
   * The members of an event's head, where it differs from the last one in nothing but its id, which is as long.
   * Saves parsing it for every answer (2 us of a small request).
   *
   * @param text the members before `choices`, as an object.
   */
  headOf(text: string): Shape | undefined {
    const head = this.#head;
    return head?.shape.text.length === text.length && head.frame.inside(text) !== null
      ? head.shape
      : undefined;
  }

  /** Keeps a head that is no error frame and states no usage. @returns what is known of it now. */
  keepHead(text: string, facts: ChunkFacts): Shape {
    const shape = new Shape(text, facts);
    const members = shape.membersOf(text, skipSpace(text, 0));
    const id = members.find(({ key, start }) => key === 'id' && kindAt(text, start) === 'string');
    if (id !== undefined && text.length <= LONGEST) {
      this.#head = { frame: new Frame(text.slice(0, id.start + 1), text.slice(id.end - 1)), shape };
    }
    return shape;
  }
}

/** With the lengths first: most texts differ in them. */
function isSame(a: string, b: string): boolean {
  return a.length === b.length && a === b;
}
