import { hashText } from './fake-tokens';
import { cutTo, type Generation } from './generation';
import { effectiveLimit, type GenerationRequest, type Prompt, promptsOf } from './generation-request';
import { isJsonObject, type JsonObject } from './raw-json';

// Not all ASCII, so that a reader that cuts characters at chunk ends is seen.
const WORDS = [
  ' tide',
  ' se\u00f1al',
  ' \u6f6e',
  ' drift',
  ' narwhal',
  ' \u00e9t\u00e9',
  ' \u{1f30a}',
  ' tusk',
  ' floe',
  ' "quoted"',
];

function nonces(text: string): string[] {
  return [...new Set(text.match(/nonce-[A-Za-z0-9]+/g) ?? [])];
}

function forcedTool(body: Readonly<JsonObject>): { name: string; finishReason: string } | undefined {
  const tools = Array.isArray(body['tools']) ? body['tools'].filter(isJsonObject) : [];
  const names = tools.map((tool) => (isJsonObject(tool['function']) ? tool['function']['name'] : undefined));
  const choice = body['tool_choice'];
  // vLLM ends a named call with "stop" and a required one with "tool_calls".
  if (choice === 'required' && names[0] !== undefined) {
    return { name: String(names[0]), finishReason: 'tool_calls' };
  }
  if (isJsonObject(choice) && isJsonObject(choice['function'])) {
    return { name: String(choice['function']['name']), finishReason: 'stop' };
  }
  return undefined;
}

function answerTo(prompt: Prompt, request: GenerationRequest): Generation {
  const seen = nonces(prompt.text);
  const seed = hashText(prompt.text);
  const tool = request.route === 'chat' ? forcedTool(request.body) : undefined;
  if (tool !== undefined) {
    const value = JSON.stringify(seen.join(' ') || `w${seed % 1000}`);
    const plan = {
      id: `call_${seed.toString(16)}`,
      name: tool.name,
      argumentPieces: ['{"note":', value, '}'],
    };
    return { toolCalls: [plan], finishReason: tool.finishReason };
  }
  const count = 3 + (seed % 3);
  const words = Array.from({ length: count }, (_, at) => WORDS[(seed + at * 7) % WORDS.length]!);
  return { content: ['Heard', ...seen.map((nonce) => ` ${nonce}`), ...words, '.'], stopReason: null };
}

/**
 * What a stub engine says when nothing else was asked of it: a function of the prompt alone (not of `seed` or
 * `temperature`). It repeats every `nonce-<word>` of the prompt, calls the tool that `tool_choice` forces, and
 * counts each delta as one token against the request's limit.
 *
 * @returns one generation for each prompt, `n` times
 */
export function defaultGeneration(request: GenerationRequest): Generation[] {
  const limit = effectiveLimit(request.route, request.body) ?? Number.POSITIVE_INFINITY;
  const width = typeof request.body['n'] === 'number' ? request.body['n'] : 1;
  return promptsOf(request.body).flatMap((prompt) => {
    const generation = cutTo(answerTo(prompt, request), limit);
    return Array.from({ length: width }, () => generation);
  });
}
