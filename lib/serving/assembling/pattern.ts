/** A whole answer, but for what differs between answers of the same events. */
import { copyOf } from '../../json/raw-json';
import { type HeadFrame, type Step, USAGE } from './step';

/** What differs: raw JSON text, strings without their quotes. `usage` is empty where none was stated. */
export interface Blanks {
  readonly id: string;
  readonly created: string;
  readonly text: string;
  readonly usage: string;
}

/** Answers that are kept; the newest first. */
const MOST = 16;
/** So many are learned in a row without any use, then one of a thousand: learning costs as much as a request. */
const MOST_IN_VAIN = 32;
const ONE_OF = 1000;

/** Texts to fill in that no answer has by chance. Two of a kind, of two lengths. */
const PROBES: readonly [Blanks, Blanks] = [
  { id: '<~id~>', created: '978312645001', text: '<~text~>', usage: '{"<~usage~>":0}' },
  { id: '<~other id~>', created: '97831264', text: '<~other text~>', usage: '{"<~other usage~>":{}}' },
];

/** The events of an answer, as a draft tells them. */
interface Told {
  readonly head: HeadFrame | null;
  readonly steps: readonly Step[];
}

/** How answers look whose events are these. */
export class Pattern {
  private constructor(
    readonly head: HeadFrame,
    readonly steps: readonly Step[],
    private readonly literals: readonly string[],
    private readonly names: readonly (keyof Blanks)[],
  ) {}

  /**
   * Learns what comes of events, by having them put together with probes in their blanks.
   *
   * @param assemble the answer to events, put together one by one.
   * @returns null where the blanks cannot be found in it.
   */
  static of({ head, steps }: Told, assemble: (events: readonly string[]) => string): Pattern | null {
    if (head === null) return null;
    const [probe, other] = PROBES;
    const found = cut(assemble(eventsOf(head, steps, probe)), probe, steps.includes(USAGE));
    if (found === null) return null;
    // Parts of an event keep all of it alive, and what else came with it.
    const own = { between: copyOf(head.between), rest: copyOf(head.rest) };
    const pattern = new Pattern(own, [...steps], found.literals, found.names);
    return pattern.fill(other) === assemble(eventsOf(head, steps, other)) ? pattern : null;
  }

  fill(blanks: Blanks): string {
    const { literals, names } = this;
    let text = literals[0]!;
    for (let at = 0; at < names.length; at++) text += blanks[names[at]!] + literals[at + 1]!;
    return text;
  }
}

/** The patterns of one route. */
export class Patterns {
  private known: readonly Pattern[] = [];
  private inVain = 0;

  /** Those of answers whose heads differ in id and time alone. */
  of({ between, rest }: HeadFrame): readonly Pattern[] {
    return this.known.filter(({ head }) => head.rest === rest && head.between === between);
  }

  /** One has served. */
  used(): void {
    this.inVain = 0;
  }

  /** Keeps what can be learned of an answer. */
  learn(told: Told, assemble: (events: readonly string[]) => string): void {
    if (this.has(told)) return;
    this.inVain++;
    if (this.inVain > MOST_IN_VAIN && this.inVain % ONE_OF !== 0) return;
    const pattern = learned(told, assemble);
    if (pattern !== null) this.known = [pattern, ...this.known.slice(0, MOST - 1)];
  }

  /** Another answer, which ran at the same time, has taught it. */
  private has({ head, steps }: Told): boolean {
    const isSame = (one: Pattern) =>
      one.steps.length === steps.length && steps.every((step, at) => step === one.steps[at]);
    return head !== null && this.of(head).some(isSame);
  }
}

/** The answer that teaches is a good one: whatever is wrong with its probes is no fault of it. */
function learned(told: Told, assemble: (events: readonly string[]) => string): Pattern | null {
  try {
    return Pattern.of(told, assemble);
  } catch {
    return null;
  }
}

/** The events, with other texts in their blanks. */
function eventsOf({ between, rest }: HeadFrame, steps: readonly Step[], blanks: Blanks): string[] {
  const lead = `{"id":"${blanks.id}",${between}${blanks.created}${rest}`;
  return steps.map((step) => `${lead}${bodyOf(step, blanks).slice(1)}`);
}

function bodyOf(step: Step, { text, usage }: Blanks): string {
  if (step === USAGE) return `{"choices":[],"usage":${usage}}`;
  return 'frame' in step ? `${step.frame.open}${text}${step.frame.close}` : step.text;
}

/** Cuts an answer at its blanks, of which each has to be there once. */
function cut(
  answer: string,
  blanks: Blanks,
  hasUsage: boolean,
): { literals: string[]; names: (keyof Blanks)[] } | null {
  const wanted: (keyof Blanks)[] = hasUsage ? ['id', 'created', 'text', 'usage'] : ['id', 'created', 'text'];
  const names = wanted.sort((a, b) => answer.indexOf(blanks[a]) - answer.indexOf(blanks[b]));
  const literals: string[] = [];
  let rest = answer;
  for (const name of names) {
    const [before, behind, ...more] = rest.split(blanks[name]);
    if (behind === undefined || more.length > 0) return null;
    literals.push(before!);
    rest = behind;
  }
  return { literals: [...literals, rest], names };
}
