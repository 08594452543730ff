import { hashText, tokenId } from './fake-tokens';
import { type GenerationPart, partText, type TokenLogprob } from './generation';
import type { GenerationRequest } from './generation-request';
import type { JsonObject } from './raw-json';

/** The ids of the tokens in a part. */
export function tokenIdsOf(part: GenerationPart): readonly number[] {
  return part.tokenIds ?? [tokenId(partText(part))];
}

function tokensOf(part: GenerationPart): readonly TokenLogprob[] {
  if (part.logprobs !== undefined) return part.logprobs;
  const token = partText(part);
  return [{ token, logprob: -((hashText(token) % 4000) + 1) / 1000 }];
}

function alternatives({ token, logprob }: TokenLogprob, count: number): TokenLogprob[] {
  return Array.from({ length: count }, (_, rank) => ({
    token: rank === 0 ? token : `${token}~${rank}`,
    logprob: logprob - rank,
  }));
}

function chatEntry(entry: TokenLogprob): JsonObject {
  return { token: entry.token, logprob: entry.logprob, bytes: [...Buffer.from(entry.token)] };
}

function chatLogprobs(parts: readonly GenerationPart[], top: number): JsonObject {
  const content = parts
    .flatMap(tokensOf)
    .map((entry) => ({ ...chatEntry(entry), top_logprobs: alternatives(entry, top).map(chatEntry) }));
  return { content };
}

function completionLogprobs(parts: readonly GenerationPart[], top: number, offset: number): JsonObject {
  const entries = parts.flatMap(tokensOf);
  let at = offset;
  const offsets = entries.map((entry) => {
    const start = at;
    at += entry.token.length;
    return start;
  });
  return {
    text_offset: offsets,
    token_logprobs: entries.map((entry) => entry.logprob),
    tokens: entries.map((entry) => entry.token),
    top_logprobs: entries.map((entry) =>
      Object.fromEntries(alternatives(entry, Math.max(1, top)).map((other) => [other.token, other.logprob])),
    ),
  };
}

/** The length of the text that comes before a later chunk, which `text_offset` counts from. */
export function tokenTextLength(parts: readonly GenerationPart[]): number {
  return parts.flatMap(tokensOf).reduce((length, entry) => length + entry.token.length, 0);
}

/**
 * The `logprobs` member of a choice: `{ content: [...] }` on the chat route, four arrays on the other.
 *
 * @param parts the chunks it covers
 * @param offset length of the text before them
 * @returns null when the request did not ask (chat: `logprobs: true`; completions: a number, 0 counts)
 */
export function logprobsOf(
  request: GenerationRequest,
  parts: readonly GenerationPart[],
  offset: number,
): JsonObject | null {
  const asked = request.body['logprobs'];
  if (request.route === 'completions') {
    return typeof asked === 'number' ? completionLogprobs(parts, asked, offset) : null;
  }
  const top = request.body['top_logprobs'];
  return asked === true ? chatLogprobs(parts, typeof top === 'number' ? top : 0) : null;
}
