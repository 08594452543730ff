/** Tool calls and the older function call, from their fragments. */

import { kindAt, type Member } from '../../json/raw-json';
import { type Budget, invalid } from './budget';
import type { Merge } from './merge';
import { type Nested, RawRecord } from './raw-record';

/** A function's name and arguments: both come in fragments. */
export class AssembledFunction implements Nested {
  private readonly record: RawRecord;

  constructor(budget: Budget) {
    this.record = new RawRecord(budget);
  }

  /** @throws {AssemblyError} `invalid` where a fragment is not an object or not of strings. */
  add(event: Merge, member: Member): void {
    if (kindAt(event.text, member.start) !== 'object') throw invalid('a function call is not an object');
    for (const field of event.membersAt(member.start)) {
      const { key } = field;
      if (key === 'name' || key === 'arguments') this.record.appendString(event, field);
      else this.record.append(event, field);
    }
  }

  /** Arguments are a string also where the engine had none to send; they are never parsed. */
  toRaw(): string {
    const args = this.record.raw('arguments');
    const members =
      args === null || args === 'null' ? this.record.members('arguments') : this.record.members();
    if (members.length > 0 && (args === null || args === 'null')) members.push('"arguments":""');
    return `{${members.join(',')}}`;
  }
}

/** One tool call. Engines differ in whether later fragments repeat its id and type: they stay one. */
class AssembledToolCall {
  private readonly record: RawRecord;

  constructor(private readonly budget: Budget) {
    this.record = new RawRecord(budget);
  }

  add(event: Merge, members: readonly Member[]): void {
    for (const member of members) {
      const { key } = member;
      if (key === 'index') continue;
      const isText = kindAt(event.text, member.start) === 'string';
      if (key === 'function') this.record.nest(event, member, () => new AssembledFunction(this.budget));
      // Beside id and type, a text of unknown name is a label too, not a fragment.
      else if (isText || key === 'id' || key === 'type') this.record.keepSame(event, member);
      else this.record.append(event, member);
    }
  }

  /** The type is left out by some engines and needed by clients. */
  toRaw(): string {
    const type =
      this.record.isFilled('function') && !this.record.isFilled('type') ? ['"type":"function"'] : [];
    const without = type.length > 0 ? ['type', 'id'] : ['id'];
    const id = this.record.has('id') ? [`"id":${this.record.raw('id')}`] : [];
    return `{${[...id, ...type, ...this.record.members(...without)].join(',')}}`;
  }
}

/** The tool calls of a message. Fragments find their call by index alone; calls come out in its order. */
export class AssembledToolCalls implements Nested {
  private readonly calls = new Map<number, AssembledToolCall>();

  constructor(private readonly budget: Budget) {}

  /** @throws {AssemblyError} `invalid` where a fragment has no index or is not an object. */
  add(event: Merge, member: Member): void {
    if (kindAt(event.text, member.start) !== 'array') throw invalid('tool_calls is not an array');
    for (const { start } of event.elementsAt(member.start)) {
      if (kindAt(event.text, start) !== 'object') throw invalid('a tool call is not an object');
      const members = event.membersAt(start);
      this.call(indexOf(event, members)).add(event, members);
    }
  }

  toRaw(): string {
    const inOrder = [...this.calls].sort(([a], [b]) => a - b);
    return `[${inOrder.map(([, call]) => call.toRaw()).join(',')}]`;
  }

  private call(index: number): AssembledToolCall {
    const known = this.calls.get(index);
    if (known !== undefined) return known;
    this.budget.take('{}'.length);
    const call = new AssembledToolCall(this.budget);
    this.calls.set(index, call);
    return call;
  }
}

function indexOf(event: Merge, members: readonly Member[]): number {
  const member = members.find(({ key }) => key === 'index');
  const raw = member === undefined ? '' : event.text.slice(member.start, member.end);
  if (!/^\d{1,15}$/.test(raw)) throw invalid('a tool call without a usable index');
  return Number(raw);
}
