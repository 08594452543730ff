import { badBody, badRequest, type Refusal } from './envelope';
import { effectiveLimit, type Prompt } from './generation-request';
import type { JsonObject } from './raw-json';

const INTEGERS = ['n', 'max_tokens', 'max_completion_tokens', 'min_tokens'];

function refuseLogprobs(route: 'chat' | 'completions', body: JsonObject): Refusal | undefined {
  const top = body['top_logprobs'];
  if (route === 'chat' && typeof top === 'number' && top > 0 && body['logprobs'] !== true) {
    return badBody('when using `top_logprobs`, `logprobs` must be set to true.', 'top_logprobs');
  }
  const prompt = body['prompt_logprobs'];
  if (typeof prompt === 'number' && body['stream'] === true && (prompt > 0 || prompt === -1)) {
    return badBody('`prompt_logprobs` are not available when `stream=True`.', 'prompt_logprobs');
  }
  if (body['logprob_token_ids'] != null && (body['logprobs'] == null || body['logprobs'] === false)) {
    return badBody('`logprob_token_ids` requires `logprobs`.', 'logprob_token_ids');
  }
  return undefined;
}

/** What vLLM refuses of the numbers in a body: token limits, widths, log probabilities, context length. */
export function refuseLimits(
  route: 'chat' | 'completions',
  body: JsonObject,
  prompts: readonly Prompt[],
  maxModelLen: number,
): Refusal | undefined {
  for (const name of INTEGERS) {
    const value = body[name];
    if (value != null && !Number.isInteger(value)) {
      return badBody(`1 validation error: ${name}: Input should be a valid integer`, name);
    }
  }
  const limit = effectiveLimit(route, body);
  if (limit !== undefined && limit < 1) {
    return badRequest(`max_tokens must be at least 1, got ${limit}.`, 'max_tokens');
  }
  const least = body['min_tokens'];
  if (typeof least === 'number' && limit !== undefined && least > limit) {
    return badRequest(
      `min_tokens must be less than or equal to max_tokens=${limit}, got ${least}.`,
      'min_tokens',
    );
  }
  if (typeof body['n'] === 'number' && body['n'] < 1) {
    return badRequest(`n must be at least 1, got ${body['n']}.`, 'n');
  }
  const longest = Math.max(...prompts.map((prompt) => prompt.tokenIds.length));
  if (longest + (limit ?? 1) > maxModelLen) {
    return badRequest(
      `This model's maximum context length is ${maxModelLen} tokens. However, you requested ` +
        `${longest + (limit ?? 1)} tokens. Please reduce the length of the messages or completion.`,
    );
  }
  return refuseLogprobs(route, body);
}
