/** The one choice of an answer, from the choices of its chunks. */

import { decodeString, kindAt, type Member } from '../../json/raw-json';
import type { Route } from '../../request/schema';
import { type Budget, invalid } from './budget';
import { AssembledFunction, AssembledToolCalls } from './calls';
import type { Merge } from './merge';
import { type Nested, RawRecord } from './raw-record';

/** Log probabilities: each list (tokens, offsets, entries) goes on from chunk to chunk. */
class AssembledLogprobs implements Nested {
  private readonly record: RawRecord;

  constructor(budget: Budget) {
    this.record = new RawRecord(budget);
  }

  add(event: Merge, member: Member): void {
    if (kindAt(event.text, member.start) !== 'object') throw invalid('logprobs is not an object');
    for (const field of event.membersAt(member.start)) this.record.append(event, field);
  }

  toRaw(): string {
    return this.record.toRaw();
  }
}

const TEXTS: readonly string[] = ['content', 'reasoning', 'reasoning_content', 'refusal'];
const IN_PLACE_OF_CONTENT = ['reasoning', 'reasoning_content', 'refusal', 'tool_calls', 'function_call'];

/** The message of a chat answer, from its deltas. */
class AssembledMessage {
  private readonly record: RawRecord;

  constructor(private readonly budget: Budget) {
    this.record = new RawRecord(budget);
  }

  add(event: Merge, delta: Member): void {
    if (kindAt(event.text, delta.start) !== 'object') throw invalid('a delta is not an object');
    for (const member of event.membersAt(delta.start)) this.addField(event, member);
  }

  /**
   * `content` is null where other output stands in its place: engines send an empty string with the
   * role before they know. An answer of empty strings only keeps its empty string.
   */
  toRaw(): string {
    const role = this.record.isFilled('role') ? this.record.raw('role') : '"assistant"';
    const content = this.record.raw('content') ?? 'null';
    const replaced = content === '""' && IN_PLACE_OF_CONTENT.some((key) => this.record.isFilled(key));
    const rest = this.record.members('role', 'content');
    return `{${[`"role":${role}`, `"content":${replaced ? 'null' : content}`, ...rest].join(',')}}`;
  }

  private addField(event: Merge, member: Member): void {
    const { record, budget } = this;
    const { key } = member;
    if (key === 'role') record.keepSame(event, member);
    else if (TEXTS.includes(key)) record.appendString(event, member);
    else if (key === 'tool_calls') record.nest(event, member, () => new AssembledToolCalls(budget));
    else if (key === 'function_call') record.nest(event, member, () => new AssembledFunction(budget));
    else record.append(event, member);
  }
}

const BODIES: readonly string[] = ['delta', 'text', 'message'];

/** A choice: its text or message, log probabilities, and how it ended. */
export class AssembledChoice {
  private readonly record: RawRecord;
  private readonly message: AssembledMessage;

  constructor(
    private readonly route: Route,
    private readonly budget: Budget,
  ) {
    this.record = new RawRecord(budget);
    this.message = new AssembledMessage(budget);
  }

  get finishReason(): string | null {
    const raw = this.record.raw('finish_reason') ?? 'null';
    return raw === 'null' ? null : decodeString(raw);
  }

  /** @throws {AssemblyError} `invalid` for another index than 0, and for fields of the wrong type. */
  add(event: Merge, start: number): void {
    if (kindAt(event.text, start) !== 'object') throw invalid('a choice is not an object');
    for (const member of event.membersAt(start)) this.addField(event, member);
  }

  toRaw(): string {
    const body = this.route === 'chat' ? `"message":${this.message.toRaw()}` : `"text":${this.textOrEmpty()}`;
    const logprobs = `"logprobs":${this.record.raw('logprobs') ?? 'null'}`;
    const finish = `"finish_reason":${this.record.raw('finish_reason') ?? 'null'}`;
    const rest = this.record.members('text', 'logprobs', 'finish_reason');
    return `{${['"index":0', body, logprobs, finish, ...rest].join(',')}}`;
  }

  private textOrEmpty(): string {
    const text = this.record.raw('text') ?? 'null';
    return text === 'null' ? '""' : text;
  }

  private addField(event: Merge, member: Member): void {
    const { record, budget } = this;
    const { key } = member;
    const kind = kindAt(event.text, member.start);
    if (key === 'index') {
      if (event.text.slice(member.start, member.end) !== '0')
        throw invalid('a choice with another index than 0');
    } else if (BODIES.includes(key)) {
      if (kind !== 'null') this.addBody(event, key, member);
    } else if (key === 'logprobs') {
      record.nest(event, member, () => new AssembledLogprobs(budget));
    } else if (key === 'token_ids') {
      if (kind !== 'array' && kind !== 'null') throw invalid('token_ids is not an array');
      record.append(event, member);
    } else {
      const isText = kind === 'string' || kind === 'null';
      if (key === 'finish_reason' && !isText) throw invalid('finish_reason is not a string');
      record.keepLast(event, member);
    }
  }

  /** A chat chunk has a delta, a completion chunk a text; the other route's field must not get lost. */
  private addBody(event: Merge, key: string, member: Member): void {
    if (key !== (this.route === 'chat' ? 'delta' : 'text'))
      throw invalid(`a ${this.route} chunk with ${key}`);
    if (key === 'text') this.record.appendString(event, member);
    else this.message.add(event, member);
  }
}
