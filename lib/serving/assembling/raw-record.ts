/** An object under assembly: its members, merged from many events, each kept as raw JSON. */

import { decodeString, kindAt, type Member } from '../../json/raw-json';
import { type Budget, invalid } from './budget';
import type { Merge } from './merge';
import { RawText } from './raw-text';

/** A member that has an assembly of its own, such as the list of tool calls. */
export interface Nested {
  add(event: Merge, member: Member): void;
  toRaw(): string;
}

type Value =
  | { readonly kind: 'kept'; readonly raw: string }
  | { readonly kind: 'string' | 'array'; readonly body: RawText }
  | { readonly kind: 'nested'; readonly nested: Nested };

interface Slot {
  readonly rawKey: string;
  value: Value;
}

const NULL: Value = { kind: 'kept', raw: 'null' };

/** Members in the order in which they first came. A null gives way to any value and replaces none. */
export class RawRecord {
  private readonly slots = new Map<string, Slot>();

  constructor(private readonly budget: Budget) {}

  /** The last value that is not null stays. */
  keepLast(event: Merge, member: Member): void {
    this.keep(this.slot(member), event.text.slice(member.start, member.end));
  }

  /**
   * The value must be the same wherever it comes; an empty string counts as absent.
   *
   * @throws {AssemblyError} `invalid` where it differs.
   */
  keepSame(event: Merge, member: Member): void {
    const slot = this.slot(member);
    const raw = event.text.slice(member.start, member.end);
    const known = slot.value.kind === 'kept' ? slot.value.raw : '';
    if (raw === 'null' || raw === known) return;
    if (slot.value !== NULL && known !== '""') {
      if (raw === '""') return;
      if (!isSameString(known, raw)) throw invalid('a field changes its value in mid-stream');
    }
    this.keep(slot, raw);
  }

  /** A string, or null. @throws {AssemblyError} `invalid` for another type. */
  appendString(event: Merge, member: Member): void {
    const kind = kindAt(event.text, member.start);
    if (kind !== 'string' && kind !== 'null') throw invalid('a text field is not a string');
    this.append(event, member);
  }

  /**
   * The rule for fields that nobody knows: strings and arrays are taken for fragments and joined;
   * anything else must be the same wherever it comes. So nothing is lost without an error; a string
   * that an engine repeats in full comes out repeated.
   *
   * @throws {AssemblyError} `invalid` where the type or an unjoinable value differs.
   */
  append(event: Merge, member: Member): void {
    const kind = kindAt(event.text, member.start);
    if (kind === 'string' || kind === 'array') this.appendPart(event, member, kind);
    else if (this.slot(member).value.kind === 'kept') this.keepSame(event, member);
    else if (kind !== 'null') throw invalid('a field changes its type in mid-stream');
  }

  /** Hands the value to the member's own assembly, made by `make` when the first value comes. */
  nest(event: Merge, member: Member, make: () => Nested): void {
    const slot = this.slot(member);
    if (kindAt(event.text, member.start) === 'null') return;
    const nested = slot.value.kind === 'nested' ? slot.value.nested : make();
    slot.value = { kind: 'nested', nested };
    nested.add(event, member);
  }

  has(key: string): boolean {
    return this.slots.has(key);
  }

  /** The member's JSON text, or null where there is none yet. */
  raw(key: string): string | null {
    const slot = this.slots.get(key);
    return slot === undefined ? null : rawOf(slot.value);
  }

  /** True for a string, array or nested member that is not empty. */
  isFilled(key: string): boolean {
    return !['null', '""', '[]', '{}'].includes(this.raw(key) ?? 'null');
  }

  /** The members as `"key":value`, without those named. */
  members(...without: readonly string[]): string[] {
    const members: string[] = [];
    for (const [key, { rawKey, value }] of this.slots) {
      if (!without.includes(key)) members.push(`${rawKey}:${rawOf(value)}`);
    }
    return members;
  }

  toRaw(): string {
    return `{${this.members().join(',')}}`;
  }

  private appendPart(event: Merge, member: Member, kind: 'string' | 'array'): void {
    const slot = this.slot(member);
    if (slot.value === NULL) slot.value = { kind, body: new RawText(this.budget) };
    if (slot.value.kind !== kind) throw invalid('a field changes its type in mid-stream');
    const { body } = slot.value;
    const { start, end } = kind === 'string' ? inner(member) : innerOfArray(event, member);
    if (start === end) return;
    if (kind === 'array' && body.length > 0) body.append(',');
    body.append(event.text.slice(start, end));
    event.appends += 1;
    if (kind === 'string') event.lastString = { start, end, target: body };
  }

  private keep(slot: Slot, raw: string): void {
    if (raw === 'null') return;
    this.budget.take(raw.length - (slot.value.kind === 'kept' ? slot.value.raw.length : 0));
    slot.value = { kind: 'kept', raw };
  }

  private slot(member: Member): Slot {
    const known = this.slots.get(member.key);
    if (known !== undefined) return known;
    this.budget.take(member.rawKey.length);
    const slot: Slot = { rawKey: member.rawKey, value: NULL };
    this.slots.set(member.key, slot);
    return slot;
  }
}

function rawOf(value: Value): string {
  switch (value.kind) {
    case 'kept':
      return value.raw;
    case 'string':
      return `"${value.body}"`;
    case 'array':
      return `[${value.body}]`;
    case 'nested':
      return value.nested.toRaw();
  }
}

function inner({ start, end }: Member): { start: number; end: number } {
  return { start: start + 1, end: end - 1 };
}

function innerOfArray(event: Merge, { start }: Member): { start: number; end: number } {
  const elements = event.elementsAt(start);
  return { start: elements[0]?.start ?? 0, end: elements.at(-1)?.end ?? 0 };
}

/** The same string may be spelled with other escapes. */
function isSameString(a: string, b: string): boolean {
  return kindAt(a, 0) === 'string' && kindAt(b, 0) === 'string' && decodeString(a) === decodeString(b);
}
