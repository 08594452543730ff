import { finishReasonOf, type Generation, type GenerationPart, layOut } from './generation';
import { type GenerationRequest, type Prompt, promptsOf } from './generation-request';
import type { JsonObject } from './raw-json';
import { tokenIdsOf } from './token-logprobs';

/** One choice of an answer, ready to be written in either form. */
export interface Choice {
  readonly index: number;
  readonly generation: Generation;
  readonly prompt: Prompt;
  /** The chunks; with `echo` the first one is the prompt. */
  readonly parts: readonly GenerationPart[];
  readonly finishReason: string;
}

/** Gives each generation its index and the prompt it belongs to (`n` answers for each prompt in turn). */
export function choicesOf(
  generations: Generation | readonly Generation[],
  request: GenerationRequest,
): Choice[] {
  const prompts = promptsOf(request.body);
  const list = 'length' in generations ? generations : [generations];
  const each = Math.max(1, Math.floor(list.length / prompts.length));
  return list.map((generation, index) => {
    const prompt = prompts[Math.min(prompts.length - 1, Math.floor(index / each))]!;
    const own = layOut(generation);
    const echo = request.route === 'completions' && request.body['echo'] === true;
    const parts = echo ? [{ content: prompt.text, tokenIds: [] }, ...own] : own;
    return { index, generation, prompt, parts, finishReason: finishReasonOf(generation) };
  });
}

/** Usage after `sent` chunks of each choice (all of them when left out). */
export function usageOf(choices: readonly Choice[], sent = Number.POSITIVE_INFINITY): JsonObject {
  const prompts = new Set(choices.map((choice) => choice.prompt));
  const promptTokens = [...prompts].reduce((sum, prompt) => sum + prompt.tokenIds.length, 0);
  const parts = choices.flatMap((choice) => choice.parts.slice(0, sent));
  const completionTokens = parts.reduce((sum, part) => sum + tokenIdsOf(part).length, 0);
  return {
    prompt_tokens: promptTokens,
    total_tokens: promptTokens + completionTokens,
    completion_tokens: completionTokens,
    ...choices[0]?.generation.usage,
  };
}
