/** The events of a stream as a client got it, read strictly. */

/** A parsed stream. */
export interface SseStream {
  /** Every event but `[DONE]`, parsed. */
  readonly frames: readonly Record<string, unknown>[];
  /** `[DONE]` was there, and it was the last event. */
  readonly done: boolean;
}

/**
 * The payloads of a stream.
 *
 * @throws {Error} for an event that is not exactly `data: ` + text + blank line; comments are skipped.
 */
export function parseEvents(text: string): string[] {
  if (text === '') return [];
  if (!text.endsWith('\n\n')) throw new Error(`an event without its end: ${text.slice(-80)}`);
  return text
    .slice(0, -2)
    .split('\n\n')
    .filter((event) => !/^:[^\n]*$/.test(event))
    .map((event) => {
      if (!/^data: [^\n]+$/.test(event)) throw new Error(`not one data line: ${event}`);
      return event.slice('data: '.length);
    });
}

/** Parses a whole stream; fails where anything follows `[DONE]`. */
export function parseSse(text: string): SseStream {
  const payloads = parseEvents(text);
  const end = payloads.indexOf('[DONE]');
  if (end !== -1 && end !== payloads.length - 1) throw new Error('something follows [DONE]');
  const frames = (end === -1 ? payloads : payloads.slice(0, end)).map(
    (payload) => JSON.parse(payload) as Record<string, unknown>,
  );
  return { frames, done: end !== -1 };
}

/** The text that the frames of a stream carry, of the first choice, on either route. */
export function textOf({ frames }: SseStream): string {
  return frames
    .map((frame) => {
      const [choice] = (frame['choices'] ?? []) as { text?: string; delta?: { content?: string | null } }[];
      return choice?.text ?? choice?.delta?.content ?? '';
    })
    .join('');
}
