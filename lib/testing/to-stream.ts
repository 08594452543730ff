import { type Choice, choicesOf, usageOf } from './choices';
import type { Generation, GenerationPart, ToolCallPiece } from './generation';
import { answerHead, type GenerationRequest } from './generation-request';
import { isJsonObject, type JsonObject } from './raw-json';
import { logprobsOf, tokenIdsOf, tokenTextLength } from './token-logprobs';

function toolDelta(piece: ToolCallPiece): JsonObject {
  return {
    index: piece.index,
    ...(piece.id !== undefined && { id: piece.id, type: 'function' }),
    function: {
      ...(piece.name !== undefined && { name: piece.name }),
      ...(piece.arguments !== undefined && { arguments: piece.arguments }),
    },
  };
}

function delta(generation: Generation, part: GenerationPart): JsonObject {
  return {
    ...(part.reasoning !== undefined && { [generation.reasoningField ?? 'reasoning']: part.reasoning }),
    ...(part.content !== undefined && { content: part.content }),
    ...(part.refusal !== undefined && { refusal: part.refusal }),
    ...(part.toolCalls !== undefined && { tool_calls: part.toolCalls.map(toolDelta) }),
    ...(part.functionCall !== undefined && { function_call: { ...part.functionCall } }),
  };
}

function partChoice(request: GenerationRequest, choice: Choice, turn: number): JsonObject {
  const part = choice.parts[turn]!;
  const before = choice.parts.slice(0, turn);
  const wantsIds = request.body['return_token_ids'] === true;
  const shared = {
    logprobs: logprobsOf(request, [part], request.route === 'chat' ? 0 : tokenTextLength(before)),
    finish_reason: null,
  };
  const tokenIds = wantsIds ? tokenIdsOf(part) : null;
  if (request.route === 'chat') {
    return { index: choice.index, delta: delta(choice.generation, part), ...shared, token_ids: tokenIds };
  }
  const promptIds = wantsIds && turn === 0 ? choice.prompt.tokenIds : null;
  return {
    index: choice.index,
    text: part.content ?? '',
    ...shared,
    stop_reason: null,
    prompt_token_ids: promptIds,
    token_ids: tokenIds,
  };
}

function finishChoice(request: GenerationRequest, choice: Choice): JsonObject {
  const end = {
    logprobs: null,
    finish_reason: choice.finishReason,
    stop_reason: choice.generation.stopReason ?? null,
    token_ids: null,
  };
  if (request.route === 'completions') return { index: choice.index, text: '', ...end };
  // An engine that parsed tool calls or reasoning ends with an empty delta, plain text with empty text.
  const hasContent = choice.parts.some((part) => part.content !== undefined);
  return { index: choice.index, delta: hasContent ? { content: '' } : {}, ...end };
}

function roleChoice(choice: Choice): JsonObject {
  return {
    index: choice.index,
    delta: { role: 'assistant', content: '' },
    logprobs: null,
    finish_reason: null,
  };
}

/**
 * The frames of a streamed answer, as vLLM writes them (entrypoints/openai/chat_completion/serving.py and
 * completion/serving.py): chat begins with a role-only chunk; one chunk for each part, the choices in turns; a
 * chunk with the finish reason for each choice; a usage chunk without choices iff
 * `stream_options.include_usage`. `continuous_usage_stats` puts usage on every chunk.
 *
 * @example
 * ```ts
 * import { toStream } from 'express-narwhal/testing';
 *
 * const request = { route: 'completions', requestId: 'r1', body: { prompt: 'hi', stream: true } } as const;
 * for (const frame of toStream({ content: ['Hello', ' world'] }, request)) console.log(JSON.parse(frame));
 * ```
 *
 * @param generation one generation for each choice
 * @returns JSON texts in order, without `data:` and without `[DONE]`
 */
export function toStream(
  generation: Generation | readonly Generation[],
  request: GenerationRequest,
): string[] {
  const choices = choicesOf(generation, request);
  const chat = request.route === 'chat';
  const head = answerHead(request, chat ? 'chat.completion.chunk' : 'text_completion');
  const options = isJsonObject(request.body['stream_options']) ? request.body['stream_options'] : {};
  const wantsUsage = options['include_usage'] === true;
  const continuous = wantsUsage && options['continuous_usage_stats'] === true;
  const frames: JsonObject[] = [];
  const push = (sent: number, choice: JsonObject, more: JsonObject = {}): void => {
    frames.push({
      ...head,
      choices: [choice],
      ...more,
      ...(continuous && { usage: { ...usageOf(choices, sent) } }),
    });
  };
  if (chat) {
    const promptIds = request.body['return_token_ids'] === true ? choices[0]?.prompt.tokenIds : null;
    for (const choice of choices) push(0, roleChoice(choice), { prompt_token_ids: promptIds });
  }
  const longest = Math.max(0, ...choices.map((choice) => choice.parts.length));
  for (let turn = 0; turn < longest; turn += 1) {
    for (const choice of choices) {
      if (turn < choice.parts.length) push(turn + 1, partChoice(request, choice, turn));
    }
  }
  for (const choice of choices) {
    const fingerprint = choice.generation.systemFingerprint;
    push(
      longest,
      finishChoice(request, choice),
      fingerprint === undefined ? {} : { system_fingerprint: fingerprint },
    );
  }
  if (wantsUsage) frames.push({ ...head, choices: [], usage: usageOf(choices) });
  return frames.map((frame) => JSON.stringify(frame));
}
