/**
 * An answer whose events are all known: what would come of them is known, too.
 *
 * Most answers of an engine differ in their id, time, text and usage alone. Their events are noted here, and
 * nothing is merged, as long as an earlier answer had the same ones in the same order.
 */
import type { ChunkFacts } from '../chunk';
import type { Budget } from './budget';
import type { EventShapes } from './event-shapes';
import { Frame } from './frame';
import type { Blanks, Pattern } from './pattern';
import { RawText } from './raw-text';
import type { FramedFacts } from './shape';
import { CHOICES, type Head, type Step, USAGE } from './step';
import { Template } from './template';

/** As vLLM and SGLang write it. A head of another form is merged event by event. */
const HEAD = /^\{"id":"([ !#-[\]-~]{1,200})",("object":"[\w.]{1,40}","created":)([1-9]\d{0,14})(,.{0,300})$/;
const USAGE_ALONE = /^\{"choices": ?\[\], ?"usage": ?(\{.*\})\}$/;

/** Answers have four or five: one event of each kind, and text in between. */
const MOST_STEPS = 16;
/** Characters of an event: those that are noted are held beside the answer. */
const LONGEST = 4096;

/** What an event is to a draft. */
interface Taken {
  /** Something of the answer was in it. */
  readonly output: boolean;
  /** How the events that follow can be read, where it had text. */
  readonly template: Template | null;
}

const SILENT: Taken = Object.freeze({ output: false, template: null });
const OUTPUT: Taken = Object.freeze({ output: true, template: null });

/** The events of one answer, for as long as they are known. */
export class Draft {
  /** How each event is known. */
  readonly steps: Step[] = [];
  /** The first of them, with which an earlier answer began. */
  readonly followed: string[] = [];
  head: Head | null = null;
  /** There is an event with text. */
  hasText = false;
  finishReason: string | null = null;
  usageCounts: object | null = null;
  /** Raw text of the usage. */
  usage: string | null = null;
  /** Earlier answers that began with the same events. */
  private patterns: readonly Pattern[] = [];
  private headText = '';
  private firstPiece = '';
  private text: RawText | null = null;

  constructor(
    private readonly shapes: EventShapes,
    private readonly budget: Budget,
  ) {}

  /** An earlier answer had all events that are noted. */
  get isFollowing(): boolean {
    return this.patterns.length > 0;
  }

  /**
   * Notes one event.
   *
   * @param raw as for `MergedAnswer.merge`.
   * @returns null for an event that is not known, or stands where none like it may: the draft is of no use then.
   */
  take(raw: string): Taken | null {
    const at = raw.indexOf(CHOICES);
    if (at === -1 || raw.length > LONGEST || this.steps.length === MOST_STEPS) return null;
    if (!this.takeHead(raw.slice(0, at))) return null;
    const body = `{${raw.slice(at)}`;
    const shape = this.shapes.find(body);
    if (shape !== undefined) return shape.hasOneChoice ? this.note(raw, shape, shape.facts) : null;
    const framed = this.hasText ? undefined : this.shapes.framedOf(body);
    if (framed !== undefined) return framed.hasOneChoice ? this.takeText(raw, body, framed) : null;
    return this.takeUsage(raw, body);
  }

  /** @returns the whole answer, where an earlier one had the same events and no more; null where none had. */
  finish(): string | null {
    const pattern = this.patterns.find(({ steps }) => steps.length === this.steps.length);
    if (pattern === undefined || this.head === null || this.text === null) return null;
    const { id, created } = this.head;
    const blanks: Blanks = { id, created, text: this.text.toString(), usage: this.usage ?? '' };
    this.shapes.patterns.used();
    return pattern.fill(blanks);
  }

  /** Where the text goes on behind its first piece. */
  textBehindFirst(): string {
    return this.text === null ? '' : this.text.toString().slice(this.firstPiece.length);
  }

  private takeHead(text: string): boolean {
    if (this.head !== null) return text === this.headText;
    const parts = HEAD.exec(text) as [string, string, string, string, string] | null;
    // A usage that is part of the head belongs to no step; behind an escape there might be one.
    if (parts === null || parts[4].includes('"usage"') || parts[4].includes('\\')) return false;
    const [, id, between, created, rest] = parts;
    this.head = { id, created, between, rest };
    this.headText = text;
    this.patterns = this.shapes.patterns.of(this.head);
    return true;
  }

  private takeText(raw: string, body: string, framed: FramedFacts): Taken {
    const { frame, facts } = framed;
    this.hasText = true;
    const taken = this.note(raw, framed, facts);
    // Where no earlier answer is followed, the text goes where the event is merged.
    if (!this.isFollowing) return taken;
    this.firstPiece = frame.inside(body)!;
    this.text = new RawText(this.budget);
    this.text.append(this.firstPiece);
    const around = new Frame(`${this.headText}${frame.open.slice(1)}`, frame.close);
    return { output: facts.output, template: new Template(around, this.text) };
  }

  private takeUsage(raw: string, body: string): Taken | null {
    const usage = this.usage === null ? USAGE_ALONE.exec(body)?.[1] : undefined;
    if (usage === undefined) return null;
    try {
      // A member behind the usage would be one too many for the parser.
      this.usageCounts = JSON.parse(usage) as object;
    } catch {
      return null;
    }
    this.usage = usage;
    return this.note(raw, USAGE, null);
  }

  private note(raw: string, step: Step, facts: ChunkFacts | null): Taken {
    const at = this.steps.length;
    this.patterns = this.patterns.filter(({ steps }) => steps[at] === step);
    this.steps.push(step);
    if (this.isFollowing) this.followed.push(raw);
    if (facts === null) return SILENT;
    if (facts.finishReason !== null) this.finishReason = Buffer.from(facts.finishReason, 'latin1').toString();
    return facts.output ? OUTPUT : SILENT;
  }
}
