import { performance } from 'node:perf_hooks';
import type { BreachLog } from './breach-log';
import { promptsOf } from './generation-request';
import type { HandoffLedger, StubHandoff } from './handoff-ledger';
import { isJsonObject, type JsonObject } from './raw-json';
import { bodyMembers, isReclaim, type StubCall } from './stub-call';

/** Members that decide which tokens the prompt has; both legs must have the same text for each. */
const PROMPT_MEMBERS = [
  'model',
  'messages',
  'prompt',
  'prompt_embeds',
  'suffix',
  'tools',
  'documents',
  'chat_template',
  'chat_template_kwargs',
  'reasoning_effort',
  'add_generation_prompt',
  'continue_final_message',
  'add_special_tokens',
  'truncate_prompt_tokens',
  'truncation_side',
  'mm_processor_kwargs',
  'media_io_kwargs',
  'cache_salt',
];

function checkSplittable(call: StubCall, body: JsonObject, log: BreachLog): void {
  const width = body['n'];
  if (typeof width === 'number' && width > 1) log.add('width', call, `n is ${width} together with a handoff`);
  if (body['use_beam_search'] === true) log.add('width', call, 'use_beam_search together with a handoff');
  if (promptsOf(body).length > 1) log.add('unsplittable', call, 'a list of prompts in one leg of two');
  if (body['prompt_logprobs'] != null) log.add('unsplittable', call, 'prompt_logprobs in one leg of two');
  if (body['echo'] === true && body['logprobs'] != null) {
    log.add('unsplittable', call, 'echo with logprobs in one leg of two');
  }
}

/** Checks that a call on a prefill engine is a proper prefill leg. */
export function checkPrefill(call: StubCall, log: BreachLog): void {
  const body = call.json ?? {};
  const wrong: string[] = [];
  if (body['stream'] === true) wrong.push('stream is true');
  if (body['max_tokens'] !== 1) wrong.push(`max_tokens is ${JSON.stringify(body['max_tokens']) ?? 'absent'}`);
  const newer = body['max_completion_tokens'];
  if (newer != null && newer !== 1) wrong.push(`max_completion_tokens is ${JSON.stringify(newer)}`);
  if (body['stream_options'] != null) wrong.push('stream_options is there');
  const transfer = body['kv_transfer_params'];
  const asks = isJsonObject(transfer) && transfer['do_remote_decode'] === true;
  if (!asks) wrong.push('kv_transfer_params.do_remote_decode is not true');
  if (isJsonObject(transfer) && transfer['do_remote_prefill'] === true) wrong.push('it brings a handoff');
  if (wrong.length > 0) log.add('prefill-shape', call, `not a prefill leg: ${wrong.join(', ')}`);
  if (asks) checkSplittable(call, body, log);
}

function samePrompt(call: StubCall, handoff: StubHandoff, log: BreachLog): void {
  const mine = bodyMembers(call);
  const text = (members: ReadonlyMap<string, string>, name: string): string => members.get(name) ?? 'null';
  const differ = PROMPT_MEMBERS.filter((name) => text(mine, name) !== text(handoff.members, name));
  if (call.path !== handoff.path) differ.push('the path');
  if (differ.length > 0) {
    log.add('prompt-differs', call, `${differ.join(', ')}: not as in prefill leg ${handoff.requestId}`);
  }
}

/**
 * Checks a call on a decode engine against the handoffs of the fleet, and counts the use.
 *
 * @param leaseMs how long a producer keeps a handoff
 * @returns the handoff it brings, when it is one of this fleet
 */
export function checkDecode(
  call: StubCall,
  ledger: HandoffLedger,
  leaseMs: number,
  log: BreachLog,
): StubHandoff | undefined {
  const text = bodyMembers(call).get('kv_transfer_params');
  if (text === undefined || text === 'null') {
    log.add('decode-without-handoff', call, `${call.path} without kv_transfer_params`);
    return undefined;
  }
  checkSplittable(call, call.json ?? {}, log);
  const handoff = ledger.find(text);
  if (handoff === undefined) {
    log.add('handoff-unknown', call, 'kv_transfer_params that no engine of this fleet produced');
    return undefined;
  }
  if (handoff.text !== text) {
    log.add('handoff-changed', call, `kv_transfer_params of ${handoff.requestId} changed on the way`);
  }
  const reclaim = isReclaim(call);
  if (handoff.state !== 'open' || (handoff.uses > 0 && !reclaim)) {
    log.add('handoff-reused', call, `handoff of ${handoff.requestId} was used before (${handoff.state})`);
  }
  if (!reclaim) handoff.uses += 1;
  const age = performance.now() - handoff.at;
  if (handoff.state === 'open' && age > leaseMs) {
    handoff.state = 'expired';
    log.add('handoff-expired', call, `handoff of ${handoff.requestId} is ${Math.round(age)} ms old`);
  }
  samePrompt(call, handoff, log);
  return handoff;
}

/** Checks a call on an engine of role `both`, which serves a request alone. */
export function checkSingle(call: StubCall, log: BreachLog): void {
  if (call.json?.['kv_transfer_params'] != null) {
    log.add('handoff-at-both', call, 'kv_transfer_params at an engine that works alone');
  }
}
