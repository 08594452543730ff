/** Short ways to write chunks and to assemble them. */
import { Assembler } from '../../lib/serving/assembling/assembler';

export type Json = Record<string, unknown>;

export const CHAT_HEAD = {
  id: 'chatcmpl-7',
  object: 'chat.completion.chunk',
  created: 1_700_000_007,
  model: 'm/1',
};
export const TEXT_HEAD = { id: 'cmpl-7', object: 'text_completion', created: 1_700_000_007, model: 'm/1' };

/** A chat chunk with one choice. */
export function chat(delta: unknown, choice: Json = {}, top: Json = {}): string {
  const choices = [{ index: 0, delta, logprobs: null, finish_reason: null, ...choice }];
  return JSON.stringify({ ...CHAT_HEAD, choices, ...top });
}

/** A completion chunk with one choice. */
export function text(value: unknown, choice: Json = {}, top: Json = {}): string {
  const choices = [{ index: 0, text: value, logprobs: null, finish_reason: null, ...choice }];
  return JSON.stringify({ ...TEXT_HEAD, choices, ...top });
}

export const ROLE = chat({ role: 'assistant', content: '' });

export function assembler(
  route: 'chat' | 'completion',
  events: readonly (string | Buffer)[],
  template = true,
) {
  const made = new Assembler(route, { maxBytes: 1 << 20, template });
  for (const event of events) made.add(event);
  return made;
}

/** The bytes of the whole answer, as text. */
export function assembleText(
  route: 'chat' | 'completion',
  events: readonly (string | Buffer)[],
  template = true,
) {
  return Buffer.from(assembler(route, events, template).finish(), 'latin1').toString();
}

interface Answer extends Json {
  readonly choices: readonly (Json & { readonly message: Json })[];
}

export function assemble(route: 'chat' | 'completion', events: readonly (string | Buffer)[]): Answer {
  return JSON.parse(assembleText(route, events)) as Answer;
}

/** The message of a chat answer. */
export function message(...events: readonly string[]): Json {
  return assemble('chat', events).choices[0]!.message;
}
