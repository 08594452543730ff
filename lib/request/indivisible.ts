/** Bodies that one prefill and one decode cannot serve (contract: section 7). Pure. */
import { NarwhalError } from '../errors';
import { arrayElements, type Span } from '../json/members';
import type { BodyValue, ParsedBody } from './parsed-body';
import type { Route } from './schema';
import { isPresent, own } from './values';

/** How a body is served: as it is, one prompt at a time, or by one engine that does both phases. */
export type SplitPlan =
  | { readonly kind: 'whole' }
  /** Where each prompt stands in the text of the body. */
  | { readonly kind: 'list'; readonly prompts: readonly Span[] }
  /** The option that needs the logits of the whole prompt on the engine that answers. */
  | {
      readonly kind: 'single-leg';
      readonly field: 'prompt_logprobs' | 'echo';
      /** Prompts in the leg: the answer has a choice for each. */
      readonly prompts: number;
    };

/** Most prompts of one request. */
const MAX_PROMPTS = 64;

/**
 * Decides how a body is served. Expects one that passed `checkFieldTypes`.
 *
 * A list of numbers is one prompt, given as token ids; so is a list of one. A list with items that
 * are neither text nor token lists stays whole: the engine refuses it. An option that needs one leg
 * keeps the whole list in that leg.
 *
 * @throws {NarwhalError} `badFieldType` for more than 64 prompts, for a list of prompts and other things, and for `prompt_embeds` that make
 *   several prompts: one handoff would serve them all.
 */
export function splitPlan(parsed: ParsedBody, route: Route): SplitPlan {
  const { outline: value } = parsed;
  const count = route === 'completion' ? countPrompts(own(value, 'prompt')) : 1;
  if (count > MAX_PROMPTS) {
    throw new NarwhalError('badFieldType', `prompt must hold at most ${MAX_PROMPTS} prompts`, {
      param: 'prompt',
    });
  }
  if (route === 'completion' && isMixed(own(value, 'prompt'))) {
    throw new NarwhalError('badFieldType', 'every item in prompt must be a string or a list of token ids', {
      param: 'prompt',
    });
  }
  const field = singleLegField(value);
  if (field !== null) return { kind: 'single-leg', field, prompts: count };
  if (route === 'completion') checkEmbeds(value);
  return count > 1 ? { kind: 'list', prompts: promptSpans(parsed) } : { kind: 'whole' };
}

function countPrompts(prompt: unknown): number {
  return Array.isArray(prompt) && prompt.every(isPrompt) ? prompt.length : 1;
}

/** Prompts beside things that are none: how many answers that would be is anybody's guess. */
function isMixed(prompt: unknown): boolean {
  return Array.isArray(prompt) && prompt.some(isPrompt) && !prompt.every(isPrompt);
}

function promptSpans({ bytes, members }: ParsedBody): Span[] {
  const { valueStart } = members.find(({ name }) => name === 'prompt')!;
  return arrayElements(bytes, valueStart);
}

function isPrompt(item: unknown): boolean {
  return typeof item === 'string' || Array.isArray(item);
}

function singleLegField(value: BodyValue): 'prompt_logprobs' | 'echo' | null {
  if (isPresent(own(value, 'prompt_logprobs'))) return 'prompt_logprobs';
  const logprobs = own(value, 'logprobs');
  // Zero asks for the logprob of each token alone; false is how chat says that none are wanted.
  return own(value, 'echo') === true && isPresent(logprobs) && logprobs !== false ? 'echo' : null;
}

/** Engines make one prompt of each item of `prompt_embeds`, and one more of a `prompt` beside it. */
function checkEmbeds(value: BodyValue): void {
  const embeds = own(value, 'prompt_embeds');
  const prompt = own(value, 'prompt');
  const count = Array.isArray(embeds) ? embeds.length : Number(isPresent(embeds));
  // SDKs that cannot leave `prompt` out send an empty one beside the embeds.
  const besidePrompt = isPresent(prompt) && (prompt as string | unknown[]).length > 0;
  if (count > 1 || (count === 1 && besidePrompt)) {
    throw new NarwhalError('badFieldType', 'prompt_embeds must be the only prompt', {
      param: 'prompt_embeds',
    });
  }
}
