/**
 * The events of a decode stream, put together into the one JSON answer that the engine's own
 * non-streaming route would have given. Pure: no Express, no sockets.
 *
 * Everything is kept as raw JSON text, so that nothing the engine sent is rounded or spelled anew.
 */
import { isUtf8 } from 'node:buffer';
import { kindAt, type Member, skipSpace } from '../../json/raw-json';
import type { Route } from '../../request/schema';
import { type ChunkFacts, inspectChunk } from '../chunk';
import { AssemblyError, Budget, invalid, malformed } from './budget';
import { AssembledChoice } from './choice';
import { EventShapes, Merge } from './merge';
import { RawRecord } from './raw-record';
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

/** `object` of the whole answer. Source: OpenAI API reference, as vLLM answers it. */
const OBJECTS: Readonly<Record<Route, string>> = { chat: 'chat.completion', completion: 'text_completion' };

const CHOICES = '"choices"';

/** Assembles one answer. After an error the assembler must not be used further. */
export class Assembler {
  private readonly budget: Budget;
  private readonly top: RawRecord;
  private readonly choice: AssembledChoice;
  private readonly useTemplate: boolean;
  private readonly shapes: EventShapes;
  private template: Template | null = null;
  /** The text of the last event that was merged in two parts, up to its `choices` key. */
  private repeated = '';
  /** The last usage, as parsed from the event's binary text: its numbers are right, its texts may not be. */
  private counts: object | null = null;
  private sawChoice = false;
  private sawOutput = false;

  constructor(
    private readonly route: Route,
    options: AssemblerOptions,
  ) {
    this.budget = new Budget(options.maxBytes, options.shared);
    this.top = new RawRecord(this.budget);
    this.choice = new AssembledChoice(route, this.budget);
    this.useTemplate = options.template ?? true;
    this.shapes = options.shapes ?? new EventShapes();
  }

  /** Some output was seen. A role alone is not output. */
  get hasOutput(): boolean {
    return this.sawOutput;
  }

  get finishReason(): string | null {
    return this.choice.finishReason;
  }

  /** The last usage that was not null, for its numbers. */
  get usageCounts(): object | null {
    return this.counts;
  }

  /** The last usage that was not null, parsed anew at each call. */
  get usage(): Readonly<Record<string, unknown>> | null {
    const raw = this.top.raw('usage');
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
    if (taken === -1) this.merge(raw);
    else if (taken > 0) this.sawOutput = true;
  }

  /**
   * @returns the JSON text of the whole answer, one character for each byte of its UTF-8 text: written
   *   with the encoding `latin1` it is on the wire as it should be, without a copy in between.
   * @throws {AssemblyError} `limit` when it is larger than `maxBytes`; `invalid` when there was no choice.
   */
  finish(): string {
    if (!this.sawChoice) throw invalid('the stream had no choice');
    const [first, rest] = this.head();
    const choices = `"choices":[${this.choice.toRaw()}]`;
    const raw = `{${[...first, choices, ...rest].join(',')}}`;
    this.budget.check(raw.length);
    return raw;
  }

  /** Gives up what was assembled, so that another assembler may take its bytes. */
  discard(): void {
    this.budget.giveBack();
  }

  /** The top-level members that stand before and after `choices`, as engines order them. */
  private head(): [string[], string[]] {
    const { top } = this;
    const named = (key: string) => (top.has(key) ? [`"${key}":${top.raw(key)}`] : []);
    const object = `"object":"${OBJECTS[this.route]}"`;
    const first = [...named('id'), object, ...named('created'), ...named('model')];
    return [first, top.members('id', 'created', 'model')];
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

  /**
   * Events repeat their id, model and time before their choices. That part is merged once; what was kept once
   * is kept the second time without effect. Halves the cost of an event that has to be parsed.
   */
  private merge(text: string): void {
    // The template holds only for an unbroken run: another event may have changed what it repeats.
    this.template = null;
    const at = text.indexOf(CHOICES);
    const head = at === -1 ? '' : text.slice(0, at);
    if (head !== '' && (head === this.repeated || this.mergeHead(head))) {
      this.repeated = head;
      this.mergeObject(head.slice(1), `{${text.slice(at)}`);
    } else {
      this.mergeObject('', text);
    }
  }

  /**
   * Merges the members before `choices`.
   *
   * @returns false, with nothing merged, where the text does not end between two members of the event.
   */
  private mergeHead(head: string): boolean {
    const members = head.trimEnd();
    const closed = members.endsWith(',') ? `${members.slice(0, -1)}}` : `${members}}`;
    let known = this.shapes.headOf(closed);
    if (known === undefined) {
      let value: unknown;
      try {
        value = JSON.parse(closed);
      } catch {
        return false;
      }
      const { object } = value as { object?: unknown };
      // An error frame is known by more than one member, which may stand anywhere.
      const facts = inspectChunk(value, this.route);
      if (object === 'error' || facts.error !== null) return false;
      if (facts.usage === null) known = this.shapes.keepHead(closed, facts);
      else this.counts = facts.usage;
    }
    this.mergeMembers(new Merge('', closed, known));
    return true;
  }

  private mergeObject(lead: string, text: string): void {
    const shape = this.shapes.find(text);
    const known = shape?.facts ?? this.shapes.factsOf(text);
    const facts = known ?? this.factsOf(text);
    const event = new Merge(lead, text, shape);
    this.mergeMembers(event);
    if (known === undefined) this.shapes.keep(event, facts);
    if (facts.usage !== null) this.counts = facts.usage;
    if (facts.output) this.sawOutput = true;
    if (this.useTemplate) this.template = Template.from(event);
  }

  private factsOf(text: string): ChunkFacts {
    const chunk = parse(text);
    if (kindAt(text, skipSpace(text, 0)) !== 'object') throw malformed('an event is not an object');
    const facts = inspectChunk(chunk, this.route);
    if (facts.error !== null) throw invalid('an event is an error');
    return facts;
  }

  private mergeMembers(event: Merge): void {
    const { text } = event;
    for (const member of event.membersAt(skipSpace(text, 0))) this.addField(event, member);
  }

  private addField(event: Merge, member: Member): void {
    const { key } = member;
    const kind = kindAt(event.text, member.start);
    if (key === 'choices') {
      if (kind === 'null') return;
      if (kind !== 'array') throw invalid('choices is not an array');
      for (const { start } of event.elementsAt(member.start)) {
        this.choice.add(event, start);
        this.sawChoice = true;
      }
    } else if (!NOT_THE_CLIENTS.has(key)) {
      if (key === 'usage' && kind !== 'object' && kind !== 'null') throw invalid('usage is not an object');
      this.top.keepLast(event, member);
    }
  }
}

/** `object` is written anew; a descriptor of KV blocks names hosts that no client may see. */
const NOT_THE_CLIENTS: ReadonlySet<string> = new Set(['object', 'kv_transfer_params']);

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw malformed('an event is not valid JSON');
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
