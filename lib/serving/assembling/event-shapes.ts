/** What assemblies of one route have learned of the engines' events. */
import { copyOf, kindAt, skipSpace } from '../../json/raw-json';
import type { ChunkFacts } from '../chunk';
import { Frame } from './frame';
import type { Merge } from './merge';
import { Patterns } from './pattern';
import { FramedFacts, Shape } from './shape';

/** Texts that are kept, and the longest of them. */
const MOST = 64;
const LONGEST = 512;
/** Frames that are kept: an engine has one for its content, another for its reasoning. */
const MOST_FRAMES = 4;

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

  /** How whole answers look. */
  readonly patterns = new Patterns();

  /** What the event says, where another differed from it in nothing but its one string. */
  framedOf(text: string): FramedFacts | undefined {
    // An empty string and null are another matter: only what was filled is known to be output.
    const at = this.#framed.findIndex(({ frame }) => (frame.inside(text) ?? '') !== '');
    const found = this.#framed[at];
    // To the front: frames that serve stay, whatever else passes by.
    if (found !== undefined && at > 0) this.#framed = [found, ...this.#framed.filter((one) => one !== found)];
    return found;
  }

  find(text: string): Shape | undefined {
    return text.length > LONGEST ? undefined : this.#known.find((shape) => isSame(shape.text, text));
  }

  /** Keeps what was found out, where it may be of use again. */
  keep({ text, appends, lastString }: Merge, facts: ChunkFacts): void {
    if (appends === 1 && lastString !== null && facts.usage === null) {
      const frame = new Frame(copyOf(text.slice(0, lastString.start)), copyOf(text.slice(lastString.end)));
      if (frame.open.length + frame.close.length > LONGEST) return;
      this.#framed = [new FramedFacts(frame, facts), ...this.#framed.slice(0, MOST_FRAMES - 1)];
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
