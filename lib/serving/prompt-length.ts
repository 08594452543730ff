/** Pure: how many tokens a prompt has, as well as can be said without the engine. */
import type { ParsedBody } from '../request/parse-body';

/** Members of a body that make the prompt. */
const PROMPT_FIELDS = ['prompt', 'messages', 'prompt_embeds', 'tools'] as const;

/**
 * Estimates the length of a prompt.
 *
 * @param charsPerToken `engine.chars_per_token`.
 * @returns tokens: exact for a prompt of token ids, else the bytes of the prompt's JSON text divided by
 *   `charsPerToken`; at least 1.
 */
export function promptLength({ members, value }: ParsedBody, charsPerToken: number): number {
  const exact = tokenCount(value['prompt']);
  if (exact !== null) return exact;
  let bytes = 0;
  for (const { name, valueStart, valueEnd } of members) {
    if ((PROMPT_FIELDS as readonly string[]).includes(name)) bytes += valueEnd - valueStart;
  }
  return Math.max(1, Math.ceil(bytes / charsPerToken));
}

/** Counts token ids: one list, or a list of lists. */
function tokenCount(prompt: unknown): number | null {
  if (!Array.isArray(prompt) || prompt.length === 0) return null;
  if (typeof prompt[0] === 'number') return prompt.length;
  let count = 0;
  for (const part of prompt) {
    if (!Array.isArray(part) || typeof part[0] !== 'number') return null;
    count += part.length;
  }
  return count;
}
