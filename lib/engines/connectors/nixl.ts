/**
 * vLLM's NixlConnector. The object is opaque: it is looked at for presence and forwarded verbatim.
 *
 * Source: vLLM `distributed/kv_transfer/kv_connector/v1/nixl/`. The answer is at the top level of the
 * response; some builds put it into the first choice.
 */
import { firstElement, type Member, objectMembers, onlyValueOf, type Span } from '../../json/members';
import type { Connector, HandoffReading } from './connector';

const FIELD = 'kv_transfer_params';

function take(answer: Buffer, value: Readonly<Record<string, unknown>>): HandoffReading {
  if (isPresent(value[FIELD])) {
    // One search in place of a walk over the answer, which few engines make necessary.
    const only = onlyValueOf(answer, FIELD);
    return read(answer, only ?? spanOf(objectMembers(answer)), value[FIELD]);
  }
  const members = objectMembers(answer);
  const { choices } = value;
  const choice: unknown = Array.isArray(choices) ? choices[0] : undefined;
  if (isPresent(choice) && isPresent((choice as Record<string, unknown>)[FIELD])) {
    const first = firstElement(answer, memberNamed(members, 'choices')!.valueStart);
    const inChoice = objectMembers(answer, first!.start);
    return read(answer, spanOf(inChoice), (choice as Record<string, unknown>)[FIELD]);
  }
  return { kind: 'missing', detail: 'the prefill answer has no kv_transfer_params' };
}

function read(answer: Buffer, { start, end }: Span, value: unknown): HandoffReading {
  if (typeof value !== 'object' || Array.isArray(value) || Object.keys(value as object).length === 0) {
    return { kind: 'missing', detail: 'kv_transfer_params is not an object with members' };
  }
  const { do_remote_prefill: remote, remote_block_ids: blocks } = value as Record<string, unknown>;
  if (remote === true && blocks !== undefined && isEmpty(blocks)) {
    // A decode engine asserts on this and can die with all its requests.
    return { kind: 'missing', detail: 'kv_transfer_params names no blocks' };
  }
  return { kind: 'handoff', text: answer.subarray(start, end) };
}

function spanOf(members: readonly Member[]): Span {
  const { valueStart: start, valueEnd: end } = memberNamed(members, FIELD)!;
  return { start, end };
}

/** The last member of a name, as JSON.parse takes it. */
function memberNamed(members: readonly Member[], name: string): Member | undefined {
  return members.findLast((member) => member.name === name);
}

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/** Null, `[]`, or one empty list for each KV cache group. */
function isEmpty(blocks: unknown): boolean {
  if (blocks === null) return true;
  return Array.isArray(blocks) && blocks.every((group) => Array.isArray(group) && group.length === 0);
}

export const nixl: Connector = Object.freeze({
  name: 'nixl',
  question: '{"do_remote_decode":true}',
  take,
  maxAgeS: (leaseS: number) => leaseS - Math.floor(leaseS / 6),
});
