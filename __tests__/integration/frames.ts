/** Chunks of a chat stream as an engine writes them, and the text that a client should see of them. */

type Json = Record<string, unknown>;

function chunk(choices: readonly Json[], more: Json = {}): string {
  const head = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 7, model: 'example/model' };
  return JSON.stringify({ ...head, choices, ...more });
}

export function deltaFrame(delta: Json, choice: Json = {}): string {
  return chunk([{ index: 0, delta, finish_reason: null, ...choice }]);
}

export function textFrame(content: string): string {
  return deltaFrame({ content });
}

export function finishFrame(reason = 'stop'): string {
  return chunk([{ index: 0, delta: {}, finish_reason: reason }]);
}

export const ROLE_FRAME = deltaFrame({ role: 'assistant', content: '' });

export const USAGE_FRAME = chunk([], {
  usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 },
});

/** The normal form of a stream. */
export function normalForm(frames: readonly string[], end = true): string {
  return [...frames, ...(end ? ['[DONE]'] : [])].map((frame) => `data: ${frame}\n\n`).join('');
}

/** A stream that one text makes: role, text, finish, usage. */
export function framesOf(...texts: readonly string[]): string[] {
  return [ROLE_FRAME, ...texts.map(textFrame), finishFrame(), USAGE_FRAME];
}
