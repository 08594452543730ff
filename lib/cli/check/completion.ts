/** The one-token requests of a check. */
import type { Question } from './call';

/**
 * Long enough for a few blocks of KV cache, and with a first word of its own: nothing of it lies in a
 * prefix cache, so that the handoff is really used.
 */
const WORDS =
  'one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen ' +
  'seventeen eighteen nineteen twenty and so on until somebody says that it is enough of counting for today';

/**
 * A request for one token.
 *
 * @param seed first word of the prompt; the same on both legs.
 * @param transfer JSON text of `kv_transfer_params`, or null for a request in one leg.
 */
export function completionBody(model: string, id: string, seed: string, transfer: string | null): Question {
  const members = { model, prompt: `${seed} ${WORDS}`, max_tokens: 1, stream: false };
  const text = JSON.stringify(members).slice(0, -1);
  const rest = transfer === null ? '' : `,"ignore_eos":true,"kv_transfer_params":${transfer}`;
  return { path: '/v1/completions', body: `${text}${rest}}`, id };
}

/** Whether an answer has a choice. */
export function hasChoice(body: Buffer): boolean {
  try {
    const { choices } = JSON.parse(body.toString('utf8')) as { choices?: unknown };
    return Array.isArray(choices) && choices.length > 0;
  } catch {
    return false;
  }
}
