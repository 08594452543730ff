/**
 * An answer that is put together event by event.
 *
 * Everything is kept as raw JSON text, so that nothing the engine sent is rounded or spelled anew.
 */
import { kindAt, type Member, skipSpace } from '../../json/raw-json';
import type { Route } from '../../request/schema';
import { type ChunkFacts, inspectChunk } from '../chunk';
import { type Budget, invalid, malformed } from './budget';
import { AssembledChoice } from './choice';
import type { EventShapes } from './event-shapes';
import { Merge } from './merge';
import { RawRecord } from './raw-record';
import { CHOICES } from './step';

/** `object` of the whole answer. Source: OpenAI API reference, as vLLM answers it. */
const OBJECTS: Readonly<Record<Route, string>> = { chat: 'chat.completion', completion: 'text_completion' };

/** What came of one event. */
export interface MergedEvent {
  readonly event: Merge;
  readonly facts: ChunkFacts;
}

/** Collects the members of all events. After an error it must not be used further. */
export class MergedAnswer {
  private readonly top: RawRecord;
  private readonly choice: AssembledChoice;
  /** The text of the last event that was merged in two parts, up to its `choices` key. */
  private repeated = '';
  private sawChoice = false;
  /** The last usage, as parsed from the event's binary text: its numbers are right, its texts may not be. */
  usageCounts: object | null = null;

  constructor(
    private readonly route: Route,
    budget: Budget,
    private readonly shapes: EventShapes,
  ) {
    this.top = new RawRecord(budget);
    this.choice = new AssembledChoice(route, budget);
  }

  get finishReason(): string | null {
    return this.choice.finishReason;
  }

  /** Raw text of the last usage that was not null. */
  get usage(): string | null {
    return this.top.raw('usage');
  }

  /**
   * Merges one event.
   *
   * Events repeat their id, model and time before their choices. That part is merged once; what was kept once
   * is kept the second time without effect. Halves the cost of an event that has to be parsed.
   *
   * @param text its JSON, one character for each byte; known to be UTF-8.
   * @throws {AssemblyError} as `Assembler.add`.
   */
  merge(text: string): MergedEvent {
    const at = text.indexOf(CHOICES);
    const head = at === -1 ? '' : text.slice(0, at);
    if (head !== '' && (head === this.repeated || this.mergeHead(head))) {
      this.repeated = head;
      return this.mergeObject(head.slice(1), `{${text.slice(at)}`);
    }
    // It may say what the head says, with other values: the head counts anew when it comes again.
    this.repeated = '';
    return this.mergeObject('', text);
  }

  /**
   * @returns the answer's JSON text, one character for each byte.
   * @throws {AssemblyError} `invalid` when there was no choice.
   */
  toRaw(): string {
    if (!this.sawChoice) throw invalid('the stream had no choice');
    const [first, rest] = this.head();
    const choices = `"choices":[${this.choice.toRaw()}]`;
    return `{${[...first, choices, ...rest].join(',')}}`;
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
   * Merges the members before `choices`.
   *
   * @returns false, with nothing merged, where the text does not end between two members of the event.
   */
  private mergeHead(head: string): boolean {
    const closed = closedOf(head.trimEnd());
    if (closed === null) return false;
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
      else this.usageCounts = facts.usage;
    }
    this.mergeMembers(new Merge('', closed, known));
    return true;
  }

  private mergeObject(lead: string, text: string): MergedEvent {
    const shape = this.shapes.find(text);
    const known = shape?.facts ?? this.shapes.framedOf(text)?.facts;
    const facts = known ?? this.factsOf(text);
    const event = new Merge(lead, text, shape);
    this.mergeMembers(event);
    if (known === undefined) this.shapes.keep(event, facts);
    if (facts.usage !== null) this.usageCounts = facts.usage;
    return { event, facts };
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

/** The members before `choices` as an object; null where no member could follow them. */
function closedOf(head: string): string | null {
  if (head === '{') return '{}';
  const members = head.slice(0, -1);
  return head.endsWith(',') && members.trimEnd() !== '{' ? `${members}}` : null;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw malformed('an event is not valid JSON');
  }
}
