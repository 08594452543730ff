/**
 * What happens to each field of the client's body on vLLM's two legs, and why.
 *
 * Sources: vLLM `entrypoints/openai/{chat_completion,completion}/protocol.py`, `v1/core/sched/utils.py`
 * and the issues named in the rows. A field without a row reaches both legs as the client wrote it.
 */
import type { FieldAction, FieldRule } from './dialect';

const keep: FieldAction = { kind: 'keep' };
const drop: FieldAction = { kind: 'drop' };
const set = (text: string): FieldAction => ({ kind: 'set', text });

function row(field: string, prefill: FieldAction, decode: FieldAction, why: string): FieldRule {
  return Object.freeze({ field, prefill, decode, why });
}

export const VLLM_FIELDS: readonly FieldRule[] = Object.freeze([
  row('model', { kind: 'model' }, { kind: 'model' }, 'the engine knows its own name of the model'),
  row('stream', set('false'), set('true'), 'stream chunks carry no handoff; the answer is always streamed'),
  row('stream_options', drop, { kind: 'ask-usage' }, 'refused without stream; usage is needed for the row'),
  row('max_tokens', set('1'), keep, 'one token makes the KV cache; null would mean 16'),
  row('max_completion_tokens', drop, keep, 'wins over max_tokens on the chat route'),
  row('max_output_tokens', drop, keep, 'a third name of the same limit'),
  row('min_tokens', drop, keep, 'above max_tokens it is refused'),
  row('min_completion_tokens', drop, keep, 'the same under a newer name'),
  row('ignore_eos', set('true'), keep, 'a first token that is EOS must not end the leg without a handoff'),
  row('stop', drop, keep, 'a stop at the first token ends the leg without a handoff on older engines'),
  row('stop_token_ids', drop, keep, 'as stop'),
  row('include_stop_str_in_output', drop, keep, 'means nothing without stop'),
  row('n', drop, keep, 'each sequence would hold blocks of its own; only one handoff comes back'),
  row('best_of', drop, keep, 'as n'),
  row('use_beam_search', drop, keep, 'sub-requests with parameters of their own: no handoff'),
  row('logprobs', drop, keep, 'the token of the prefill leg is thrown away'),
  row('top_logprobs', drop, keep, 'refused without logprobs'),
  row('logprob_token_ids', drop, keep, 'refused without logprobs'),
  row('prompt_logprobs', drop, keep, 'null here; a value goes in one leg'),
  row('echo', drop, keep, 'the text of the prefill leg is thrown away'),
  row('thinking_token_budget', drop, keep, 'refused where reasoning is off; shapes no prompt'),
  row('tool_choice', { kind: 'loosen' }, keep, 'one token of a forced call cannot be parsed (vLLM #38911)'),
  row(
    'kv_transfer_params',
    { kind: 'handoff' },
    { kind: 'handoff' },
    'ours: a client must not steer transfers',
  ),
  row('ec_transfer_params', drop, drop, 'ours, as kv_transfer_params'),
  row('request_id', drop, drop, 'ours: ids that a client repeats break engines (vLLM #10583)'),
  row('rid', drop, drop, 'ours, the same in another dialect'),
  row('bootstrap_host', drop, drop, 'ours: a client must not name hosts'),
  row('bootstrap_port', drop, drop, 'ours'),
  row('bootstrap_room', drop, drop, 'ours'),
]);
