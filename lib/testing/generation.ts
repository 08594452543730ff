/** One piece of a tool call, as one delta carries it. */
export interface ToolCallPiece {
  /** Which call of the answer this piece belongs to, from 0. */
  readonly index: number;
  /** Id of the call; travels with its first piece. */
  readonly id?: string | undefined;
  /** Name of the function; travels with its first piece. */
  readonly name?: string | undefined;
  /** A piece of the arguments' JSON text. */
  readonly arguments?: string | undefined;
}

/** One chunk of an answer. Members given together travel in one delta. */
export interface GenerationPart {
  /** Text of the answer. */
  readonly content?: string | undefined;
  /** Text of the reasoning. */
  readonly reasoning?: string | undefined;
  /** Text of the refusal. */
  readonly refusal?: string | undefined;
  /** Pieces of tool calls. */
  readonly toolCalls?: readonly ToolCallPiece[] | undefined;
  /** The legacy member; vLLM does not write it any more, other servers do. */
  readonly functionCall?:
    | { readonly name?: string | undefined; readonly arguments?: string | undefined }
    | undefined;
  /** Ids of the tokens in this chunk. Default: one id made from the text. */
  readonly tokenIds?: readonly number[] | undefined;
  /** Log probability of each token of this chunk. Default: one number made from the text. */
  readonly logprobs?: readonly TokenLogprob[] | undefined;
}

/** A token and its log probability. */
export interface TokenLogprob {
  /** Text of the token. */
  readonly token: string;
  /** Natural logarithm of its probability. */
  readonly logprob: number;
}

/** A tool call, its arguments in the pieces that arrive one after another. */
export interface ToolCallPlan {
  /** Id of the call. */
  readonly id: string;
  /** Name of the function. */
  readonly name: string;
  /** The arguments' JSON text, cut as it arrives. */
  readonly argumentPieces: readonly string[];
}

/**
 * What an engine generates for one choice. The same value gives the stream ({@link toStream}) and the whole
 * answer ({@link toJson}).
 */
export interface Generation {
  /** The chunks in order. Given, the four lists below are not looked at. */
  readonly parts?: readonly GenerationPart[] | undefined;
  /** Deltas of the reasoning; they come before the content. */
  readonly reasoning?: readonly string[] | undefined;
  /** Deltas of the content. */
  readonly content?: readonly string[] | undefined;
  /** Deltas of the refusal; they come after the content. */
  readonly refusal?: readonly string[] | undefined;
  /** Tool calls; they come last. */
  readonly toolCalls?: readonly ToolCallPlan[] | undefined;
  /** Send the argument pieces of several tool calls in turns. @default false */
  readonly interleaveToolCalls?: boolean | undefined;
  /** How the engine names reasoning. @default 'reasoning' */
  readonly reasoningField?: 'reasoning' | 'reasoning_content' | undefined;
  /** The finish reason. @default 'stop', or 'tool_calls' when there are tool calls */
  readonly finishReason?: string | undefined;
  /** vLLM's own word on what stopped it: a stop string, or the id of a token. @default null */
  readonly stopReason?: string | number | null | undefined;
  /** Members added to (or put in place of) those of the usage object. */
  readonly usage?: Readonly<Record<string, unknown>> | undefined;
  /** The member `system_fingerprint`. @default none */
  readonly systemFingerprint?: string | undefined;
}

function toolCallParts(plans: readonly ToolCallPlan[], interleave: boolean): GenerationPart[] {
  const heads = plans.map(
    (plan, index): GenerationPart => ({
      toolCalls: [{ index, id: plan.id, name: plan.name, arguments: '' }],
    }),
  );
  const tails = plans.map((plan, index) =>
    plan.argumentPieces.map((piece): GenerationPart => ({ toolCalls: [{ index, arguments: piece }] })),
  );
  if (!interleave) return heads.flatMap((head, index) => [head, ...tails[index]!]);
  const longest = Math.max(0, ...tails.map((tail) => tail.length));
  const turns = Array.from({ length: longest }, (_, turn) => tails.flatMap((tail) => tail[turn] ?? []));
  return [...heads, ...turns.flat()];
}

/** The chunks of a generation in the order in which they are sent. */
export function layOut(generation: Generation): readonly GenerationPart[] {
  if (generation.parts !== undefined) return generation.parts;
  return [
    ...(generation.reasoning ?? []).map((reasoning): GenerationPart => ({ reasoning })),
    ...(generation.content ?? []).map((content): GenerationPart => ({ content })),
    ...(generation.refusal ?? []).map((refusal): GenerationPart => ({ refusal })),
    ...toolCallParts(generation.toolCalls ?? [], generation.interleaveToolCalls ?? false),
  ];
}

/** The finish reason of a generation, given or derived from what it holds. */
export function finishReasonOf(generation: Generation): string {
  if (generation.finishReason !== undefined) return generation.finishReason;
  return layOut(generation).some((part) => part.toolCalls !== undefined) ? 'tool_calls' : 'stop';
}

/** The generation after at most `limit` chunks; one that was cut finishes with `length`. */
export function cutTo(generation: Generation, limit: number): Generation {
  const parts = layOut(generation);
  if (parts.length <= limit) return generation;
  return { ...generation, parts: parts.slice(0, limit), finishReason: 'length', stopReason: null };
}

/** All text of a part, which stands in for the text of its token. */
export function partText(part: GenerationPart): string {
  const calls = (part.toolCalls ?? []).map((piece) => (piece.name ?? '') + (piece.arguments ?? ''));
  const legacy = (part.functionCall?.name ?? '') + (part.functionCall?.arguments ?? '');
  return [part.reasoning, part.content, part.refusal, ...calls, legacy].join('');
}
