import { type Choice, choicesOf, usageOf } from './choices';
import type { Generation, GenerationPart } from './generation';
import { answerHead, type GenerationRequest, type Prompt } from './generation-request';
import type { JsonObject } from './raw-json';
import { logprobsOf, tokenIdsOf } from './token-logprobs';

interface WholeToolCall {
  id: string;
  type: 'function';
  function: { name: string; arguments: string };
}

function wholeToolCalls(parts: readonly GenerationPart[]): WholeToolCall[] {
  const byIndex = new Map<number, WholeToolCall>();
  for (const piece of parts.flatMap((part) => part.toolCalls ?? [])) {
    const call = byIndex.get(piece.index) ?? {
      id: '',
      type: 'function',
      function: { name: '', arguments: '' },
    };
    byIndex.set(piece.index, call);
    call.id = piece.id ?? call.id;
    call.function.name += piece.name ?? '';
    call.function.arguments += piece.arguments ?? '';
  }
  return [...byIndex].sort(([a], [b]) => a - b).map(([, call]) => call);
}

function joined(
  parts: readonly GenerationPart[],
  pick: (part: GenerationPart) => string | undefined,
): string | null {
  const texts = parts.map(pick).filter((text) => text !== undefined);
  return texts.length === 0 ? null : texts.join('');
}

function functionCall(parts: readonly GenerationPart[]): JsonObject | null {
  const pieces = parts.flatMap((part) => part.functionCall ?? []);
  if (pieces.length === 0) return null;
  return {
    name: pieces.map((piece) => piece.name ?? '').join(''),
    arguments: pieces.map((piece) => piece.arguments ?? '').join(''),
  };
}

function messageOf({ generation, parts }: Choice): JsonObject {
  const content = joined(parts, (part) => part.content) ?? '';
  const reasoning = joined(parts, (part) => part.reasoning);
  const refusal = joined(parts, (part) => part.refusal);
  const toolCalls = wholeToolCalls(parts);
  const legacy = functionCall(parts);
  const hasOther = Boolean(reasoning || refusal || toolCalls.length > 0 || legacy);
  return {
    role: 'assistant',
    content: content === '' && hasOther ? null : content,
    refusal,
    annotations: null,
    audio: null,
    function_call: legacy,
    tool_calls: toolCalls,
    [generation.reasoningField ?? 'reasoning']: reasoning,
  };
}

function promptLogprobs(request: GenerationRequest, prompt: Prompt): JsonObject[] | null {
  if (typeof request.body['prompt_logprobs'] !== 'number') return null;
  // The first prompt token has nothing before it and therefore no probability.
  return prompt.tokenIds.map((id, at) =>
    at === 0 ? null : { [id]: { logprob: -(id % 7) - 0.5, rank: 1, decoded_token: `t${id}` } },
  ) as JsonObject[];
}

function wholeChoice(request: GenerationRequest, choice: Choice): JsonObject {
  const wantsIds = request.body['return_token_ids'] === true;
  const chat = request.route === 'chat';
  const shared = {
    logprobs: logprobsOf(request, choice.parts, 0),
    finish_reason: choice.finishReason,
    stop_reason: choice.generation.stopReason ?? null,
    token_ids: wantsIds ? choice.parts.flatMap(tokenIdsOf) : null,
  };
  if (chat) return { index: choice.index, message: messageOf(choice), ...shared };
  return {
    index: choice.index,
    text: joined(choice.parts, (part) => part.content) ?? '',
    ...shared,
    prompt_logprobs: promptLogprobs(request, choice.prompt),
    prompt_token_ids: wantsIds ? choice.prompt.tokenIds : null,
  };
}

/**
 * The whole answer, as the engine's own non-streaming route gives it. vLLM dumps every member of its response
 * class, so members that do not apply are present as `null` (`tool_calls` as `[]`); a stream has no counterpart
 * for those. `content` is null when there was only reasoning, a refusal or calls. `kv_transfer_params` is null
 * here; a prefill engine puts its handoff there.
 *
 * @example
 * ```ts
 * import { toJson } from 'express-narwhal/testing';
 *
 * const request = { route: 'chat', requestId: 'r1', body: { model: 'example/model', messages: [] } } as const;
 * const answer = toJson({ content: ['Hello', ' world'] }, request);
 * console.log(answer['choices']);
 * ```
 *
 * @param generation one generation for each choice
 */
export function toJson(
  generation: Generation | readonly Generation[],
  request: GenerationRequest,
): JsonObject {
  const choices = choicesOf(generation, request);
  const chat = request.route === 'chat';
  const prompt = choices[0]?.prompt;
  const wantsIds = request.body['return_token_ids'] === true;
  return {
    ...answerHead(request, chat ? 'chat.completion' : 'text_completion'),
    choices: choices.map((choice) => wholeChoice(request, choice)),
    service_tier: null,
    system_fingerprint: choices[0]?.generation.systemFingerprint ?? null,
    usage: usageOf(choices),
    ...(chat && {
      prompt_logprobs: prompt ? promptLogprobs(request, prompt) : null,
      prompt_token_ids: wantsIds ? prompt?.tokenIds : null,
    }),
    kv_transfer_params: null,
  };
}
