/** How many tokens a prompt has: exactly where that can be known, else as well as can be said. */
import type { Fleet } from '../engines/fleet';
import type { BodyValue, ParsedBody } from '../request/parsed-body';
import type { Route } from '../request/schema';
import { engineHeaders } from './leg';

/** Members of a body that make the prompt. */
const PROMPT_FIELDS = ['prompt', 'messages', 'prompt_embeds', 'tools'] as const;

/** Default of `engine.chars_per_token`. */
export const CHARS_PER_TOKEN = 3.8;

/** Members that `/tokenize` takes, by route: those that shape the prompt. */
const TOKENIZE_FIELDS: Readonly<Record<Route, readonly string[]>> = {
  completion: ['prompt', 'add_special_tokens'],
  chat: [
    'messages',
    'tools',
    'add_generation_prompt',
    'continue_final_message',
    'add_special_tokens',
    'chat_template',
    'chat_template_kwargs',
    'mm_processor_kwargs',
  ],
};

/**
 * Estimates the length of a prompt.
 *
 * @param charsPerToken `engine.chars_per_token`.
 * @returns tokens: exact for a prompt of token ids, else the bytes of the prompt's JSON text divided by
 *   `charsPerToken`; at least 1.
 */
export function promptLength({ members, outline }: ParsedBody, charsPerToken: number): number {
  const exact = tokenCount(outline['prompt']);
  if (exact !== null) return exact;
  let bytes = 0;
  for (const { name, valueStart, valueEnd } of members) {
    if ((PROMPT_FIELDS as readonly string[]).includes(name)) bytes += valueEnd - valueStart;
  }
  return Math.max(1, Math.ceil(bytes / charsPerToken));
}

/**
 * The length of a prompt: of token ids by itself, with `engine.tokenize` from an engine, else the estimate.
 *
 * @returns a promise only where an engine is asked; it never rejects.
 */
export function inputLength(
  fleet: Fleet,
  body: ParsedBody,
  route: Route,
  rid: string,
): number | Promise<number> {
  const { engine, model } = fleet.config;
  const estimate = promptLength(body, engine.charsPerToken);
  if (!engine.tokenize || !canAsk(body.outline, route)) return estimate;
  const question = tokenizeBody(body, route, model);
  const headers = engineHeaders(fleet.config, `${rid}-tokenize`, {});
  return fleet.tokenizer.count(question, headers).then((count) => Math.max(1, count ?? estimate));
}

/** `/tokenize` takes one text, or messages: no list, no token ids. */
function canAsk(value: BodyValue, route: Route): boolean {
  return route === 'chat' ? Array.isArray(value['messages']) : typeof value['prompt'] === 'string';
}

/** The client's own JSON text of what shapes the prompt, and the engine's own name of the model. */
function tokenizeBody(body: ParsedBody, route: Route, model: string): Buffer {
  const parts: Buffer[] = [Buffer.from(`{"model":${JSON.stringify(model)}`)];
  for (const { name, valueStart: start, valueEnd: end } of body.members) {
    if (!TOKENIZE_FIELDS[route].includes(name) || body.outline[name] === null) continue;
    parts.push(Buffer.from(`,"${name}":`), body.textOf({ start, end }));
  }
  parts.push(Buffer.from('}'));
  return Buffer.concat(parts);
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
