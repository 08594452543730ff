/** What one parsed chunk of an OpenAI-style stream means: output, end, usage, error. Pure. */
import type { Route } from '../request/schema';

/** What one chunk says. */
export interface ChunkFacts {
  /** Something of the answer: text, a tool call, tokens, a finish reason. A role alone is not. */
  readonly output: boolean;
  readonly finishReason: string | null;
  readonly usage: object | null;
  /** An error frame: its `error` member, or the whole chunk in the flat form. */
  readonly error: object | string | null;
  /** The frame that only carries usage: its `choices` are empty. */
  readonly usageOnly: boolean;
}

type Json = Readonly<Record<string, unknown>>;

/**
 * Classifies one chunk. Never throws: what does not look like a chunk has no facts.
 *
 * Shapes: OpenAI's streaming chunks as vLLM and SGLang send them; error frames nested
 * (`{"error":{...}}`, `{"error":"text"}`) or flat (`{"object":"error","message":...}`, vLLM up to 0.10.0).
 *
 * @param chunk the parsed JSON of one event.
 */
export function inspectChunk(chunk: unknown, route: Route): ChunkFacts {
  if (!isObject(chunk))
    return { output: false, finishReason: null, usage: null, error: null, usageOnly: false };
  const choices = Array.isArray(chunk['choices']) ? chunk['choices'].filter(isObject) : [];
  const usage = isObject(chunk['usage']) ? chunk['usage'] : null;
  return {
    output: choices.some((choice) => hasOutput(choice, route)),
    finishReason: choices.map(finishReasonOf).find((reason) => reason !== null) ?? null,
    usage,
    error: errorOf(chunk),
    usageOnly: usage !== null && Array.isArray(chunk['choices']) && chunk['choices'].length === 0,
  };
}

function hasOutput(choice: Json, route: Route): boolean {
  if (finishReasonOf(choice) !== null || isFilled(choice['token_ids'])) return true;
  // Parsers of the engine may hold text back: the tokens then show only in the logprobs.
  const logprobs = choice['logprobs'];
  if (isObject(logprobs) && Object.values(logprobs).some(isFilled)) return true;
  if (route === 'completion') return isFilled(choice['text']);
  const delta = choice['delta'];
  return isObject(delta) && Object.keys(delta).some((key) => key !== 'role' && isFilled(delta[key]));
}

function finishReasonOf(choice: Json): string | null {
  const reason = choice['finish_reason'];
  return typeof reason === 'string' ? reason : null;
}

function errorOf(chunk: Json): object | string | null {
  const error = chunk['error'];
  if (error) return typeof error === 'object' ? error : String(error);
  return chunk['object'] === 'error' && 'message' in chunk ? chunk : null;
}

/** True for every value but null, the empty string, `[]` and `{}`. */
function isFilled(value: unknown): boolean {
  if (value === null || value === undefined || value === '') return false;
  return typeof value !== 'object' || Object.keys(value).length > 0;
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
