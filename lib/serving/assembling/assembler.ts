/**
 * The events of a decode stream, put together into the one JSON answer that the engine's own
 * non-streaming route would have given. Pure: no Express, no sockets.
 *
 * Everything is kept as raw JSON text, so that nothing the engine sent is rounded or spelled anew.
 */
import { isUtf8 } from 'node:buffer';
import { elementsOf, kindAt, type Member, membersOf, skipSpace } from '../../json/raw-json';
import type { Route } from '../../request/schema';
import { inspectChunk } from '../chunk';
import { AssemblyError, Budget, invalid, malformed } from './budget';
import { AssembledChoice } from './choice';
import { type Merge, RawRecord } from './raw-record';
import { Template } from './template';

export { AssemblyError };

/** The options of an assembler. */
export interface AssemblerOptions {
  /** The largest answer, in bytes of its JSON text. */
  readonly maxBytes: number;
  /** Counts the bytes of all parts of one answer; this assembler's are among them. */
  readonly shared?: Budget | undefined;
  /** @internal `false` parses every event, for comparison in tests. */
  readonly template?: boolean;
}

/** `object` of the whole answer. Source: OpenAI API reference, as vLLM answers it. */
const OBJECTS: Readonly<Record<Route, string>> = { chat: 'chat.completion', completion: 'text_completion' };

/** Assembles one answer. After an error the assembler must not be used further. */
export class Assembler {
  private readonly budget: Budget;
  private readonly top: RawRecord;
  private readonly choice: AssembledChoice;
  private readonly useTemplate: boolean;
  private template: Template | null = null;
  /** The text of the last parsed event from its brace to its `choices` key. */
  private repeated = '';
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
  }

  /** Some output was seen. A role alone is not output. */
  get hasOutput(): boolean {
    return this.sawOutput;
  }

  get finishReason(): string | null {
    return this.choice.finishReason;
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
    const raw = binaryText(text);
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

  private merge(text: string): void {
    // The template holds only for an unbroken run: another event may have changed what it repeats.
    this.template = null;
    const chunk = parse(text);
    const start = skipSpace(text, 0);
    if (kindAt(text, start) !== 'object') throw malformed('an event is not an object');
    const facts = inspectChunk(chunk, this.route);
    if (facts.error !== null) throw invalid('an event is an error');
    const event: Merge = { text, appends: 0, lastString: null };
    const from = this.skipKnown(text, start);
    for (const [key, member] of membersOf(text, from)) this.addField(event, key, member);
    if (facts.output) this.sawOutput = true;
    if (this.useTemplate) this.template = Template.from(event);
  }

  /**
   * Where new members may begin: events repeat their id, model and time, and what was kept once is kept
   * the second time without effect. Saves about a third of an event that has to be parsed.
   */
  private skipKnown(text: string, start: number): number {
    const { repeated } = this;
    return repeated !== '' && text.slice(0, repeated.length) === repeated ? repeated.length - 1 : start;
  }

  private addField(event: Merge, key: string, member: Member): void {
    const kind = kindAt(event.text, member.start);
    if (key === 'choices') {
      this.repeated = event.text.slice(0, event.text.lastIndexOf(member.rawKey, member.start));
      if (kind === 'null') return;
      if (kind !== 'array') throw invalid('choices is not an array');
      for (const { start } of elementsOf(event.text, member.start)) {
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
