/**
 * The events of a decode stream, put together into the one JSON answer that the engine's own
 * non-streaming route would have given. Pure: no Express, no sockets.
 */
import { isUtf8 } from 'node:buffer';
import type { Route } from '../../request/schema';
import { AssemblyError, Budget, malformed } from './budget';
import { Draft } from './draft';
import { EventShapes } from './event-shapes';
import { MergedAnswer } from './merged-answer';
import { FramedFacts } from './shape';
import { Template } from './template';

export { AssemblyError };

/** The options of an assembler. */
export interface AssemblerOptions {
  /** The largest answer, in bytes of its JSON text. */
  readonly maxBytes: number;
  /** Counts the bytes of all parts of one answer; this assembler's are among them. */
  readonly shared?: Budget | undefined;
  /** What other assemblers of this route have learned of events. Default: nothing. */
  readonly shapes?: EventShapes | undefined;
  /** @internal `false` parses every event, for comparison in tests. */
  readonly template?: boolean;
}

/** Assembles one answer. After an error the assembler must not be used further. */
export class Assembler {
  private readonly budget: Budget;
  private readonly useTemplate: boolean;
  private readonly shapes: EventShapes;
  private template: Template | null = null;
  /** The events that were all known so far; null once one was not. */
  private draft: Draft | null;
  /** The answer so far; null while the draft follows an earlier one. */
  private merged: MergedAnswer | null = null;
  private sawOutput = false;

  constructor(
    private readonly route: Route,
    options: AssemblerOptions,
  ) {
    this.budget = new Budget(options.maxBytes, options.shared);
    this.useTemplate = options.template ?? true;
    this.shapes = options.shapes ?? new EventShapes();
    // The parts of a list are counted together while they grow, and a draft counts its text alone.
    const mayDraft = this.useTemplate && options.shared === undefined;
    this.draft = mayDraft ? new Draft(this.shapes, this.budget) : null;
  }

  /** Some output was seen. A role alone is not output. */
  get hasOutput(): boolean {
    return this.sawOutput;
  }

  get finishReason(): string | null {
    return (this.merged ?? this.draft)?.finishReason ?? null;
  }

  /** The last usage that was not null, for its numbers. */
  get usageCounts(): object | null {
    return (this.merged ?? this.draft)?.usageCounts ?? null;
  }

  /** The last usage that was not null, parsed anew at each call. */
  get usage(): Readonly<Record<string, unknown>> | null {
    const raw = (this.merged ?? this.draft)?.usage ?? null;
    return raw === null
      ? null
      : (JSON.parse(Buffer.from(raw, 'latin1').toString()) as Record<string, unknown> | null);
  }

  /**
   * Merges one event.
   *
   * @param text the JSON text of the event; never `[DONE]`, never an error frame.
   * @throws {AssemblyError} `malformed` or `invalid` for what cannot be merged without loss; `limit` when the answer
   *   would be larger than `maxBytes`.
   */
  add(text: string | Buffer): void {
    this.addRaw(binaryText(text));
  }

  /** As `add`, for text with one character for each byte that is known to be UTF-8. */
  addRaw(raw: string): void {
    const taken = this.template === null ? -1 : this.template.take(raw);
    if (taken > 0) this.sawOutput = true;
    if (taken !== -1) return;
    // The template holds only for an unbroken run: another event may have changed what it repeats.
    this.template = null;
    if (this.note(raw)) return;
    const { event, facts } = this.merging().merge(raw);
    if (facts.output) this.sawOutput = true;
    if (this.useTemplate) this.template = Template.from(event);
  }

  /**
   * @returns the JSON text of the whole answer, one character for each byte of its UTF-8 text: written
   *   with the encoding `latin1` it is on the wire as it should be, without a copy in between.
   * @throws {AssemblyError} `limit` when it is larger than `maxBytes`; `invalid` when there was no choice.
   */
  finish(): string {
    const { draft } = this;
    const known = this.merged === null ? (draft?.finish() ?? null) : null;
    const raw = known ?? this.merging().toRaw();
    this.budget.check(raw.length);
    if (known === null && draft?.hasText)
      this.shapes.patterns.learn(draft, (events) => this.assembled(events));
    return raw;
  }

  /** Gives up what was assembled, so that another assembler may take its bytes. */
  discard(): void {
    this.budget.giveBack();
  }

  /**
   * Reads on in a chunk of the stream: takes the events that begin at `at` and follow each other, as long as
   * each differs from the last one in its one string alone. One search and two comparisons each, no slice of
   * the chunk: an answer of 64 events costs a third of what it does event by event (`npm run bench -- assembly`).
   *
   * @param text the chunk, one character for each byte; known to be UTF-8.
   * @returns where the first byte stands that was not taken.
   * @throws {AssemblyError} `limit`.
   */
  takeRun(text: string, at: number): number {
    if (this.template === null) return at;
    const end = this.template.takeRun(text, at);
    if (end.filled) this.sawOutput = true;
    return end.at;
  }

  /** Notes an event in the draft. @returns whether that is all there is to do: an earlier answer is being followed. */
  private note(raw: string): boolean {
    if (this.draft === null) return false;
    const taken = this.draft.take(raw);
    if (taken !== null && this.merged === null && this.draft.isFollowing) {
      if (taken.output) this.sawOutput = true;
      this.template = taken.template;
      return true;
    }
    // An event that is known but new in its place is still worth learning from.
    if (taken !== null) return false;
    this.merging();
    this.draft = null;
    return false;
  }

  /** The answer as it is merged; what was only noted so far is merged first. */
  private merging(): MergedAnswer {
    this.merged ??= this.caughtUp(this.draft);
    return this.merged;
  }

  /** An answer with the events that were only noted so far. */
  private caughtUp(draft: Draft | null): MergedAnswer {
    const answer = new MergedAnswer(this.route, this.budget, this.shapes);
    if (draft === null || draft.followed.length === 0) return answer;
    const more = draft.textBehindFirst();
    this.budget.giveBack();
    for (const [at, text] of draft.followed.entries()) {
      const { event } = answer.merge(text);
      if (draft.steps[at] instanceof FramedFacts) event.lastString?.target.append(more);
    }
    return answer;
  }

  private assembled(events: readonly string[]): string {
    const answer = new MergedAnswer(this.route, new Budget(Number.POSITIVE_INFINITY), new EventShapes());
    for (const event of events) answer.merge(event);
    return answer.toRaw();
  }
}

/** The UTF-8 bytes of the text, one character each; see `raw-json`. */
function binaryText(text: string | Buffer): string {
  if (typeof text !== 'string') {
    if (!isUtf8(text)) throw malformed('an event is not valid UTF-8');
    return text.toString('latin1');
  }
  // A lone surrogate has no UTF-8 bytes: it would become a replacement character.
  if (/\p{Surrogate}/u.test(text)) throw malformed('an event is not well-formed text');
  return Buffer.from(text).toString('latin1');
}
