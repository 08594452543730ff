import { tokenize } from './fake-tokens';
import { isJsonObject, type JsonObject } from './raw-json';

/** What a generation answers. */
export interface GenerationRequest {
  /** Which of the two routes was asked. */
  readonly route: 'chat' | 'completions';
  /** The `x-request-id` the engine was given; the answer's id is made from it. */
  readonly requestId: string;
  /** The parsed request body. */
  readonly body: Readonly<JsonObject>;
  /** Unix time in seconds. @default 1700000000 */
  readonly created?: number | undefined;
}

/** One prompt of a request, as text and as token ids. */
export interface Prompt {
  readonly text: string;
  readonly tokenIds: readonly number[];
}

function contentText(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.map((part) => (isJsonObject(part) ? String(part['text'] ?? '') : '')).join(' ');
}

function toPrompt(value: unknown): Prompt {
  if (Array.isArray(value)) return { text: `ids ${value.join(' ')}`, tokenIds: value.map(Number) };
  const text = String(value ?? '');
  return { text, tokenIds: tokenize(text) };
}

/** The prompts of a request body: one for the chat route, one or more for the other. */
export function promptsOf(body: Readonly<JsonObject>): Prompt[] {
  if (Array.isArray(body['messages'])) {
    const lines = body['messages'].map((message) =>
      isJsonObject(message) ? `${String(message['role'])}: ${contentText(message['content'])}` : '',
    );
    return [toPrompt(lines.join('\n'))];
  }
  const prompt = body['prompt'];
  if (!Array.isArray(prompt)) return [toPrompt(prompt)];
  const isList = prompt.some((item) => typeof item === 'string' || Array.isArray(item));
  return isList ? prompt.map(toPrompt) : [toPrompt(prompt)];
}

/**
 * The token limit that the engine will keep to: on the chat route `max_completion_tokens` wins, on the other
 * route it is not known and the default is 16 (vLLM entrypoints/openai/{chat_completion,completion}/protocol.py).
 *
 * @returns undefined when nothing limits the answer
 */
export function effectiveLimit(
  route: GenerationRequest['route'],
  body: Readonly<JsonObject>,
): number | undefined {
  if (route === 'chat') {
    const limit = body['max_completion_tokens'] ?? body['max_tokens'];
    return typeof limit === 'number' ? limit : undefined;
  }
  const limit = body['max_tokens'];
  if (typeof limit !== 'number') return 16;
  return limit === 0 && body['echo'] === true ? 1 : limit;
}

/** The id of the answer: vLLM puts a prefix before the id it was given. */
export function answerId(request: GenerationRequest): string {
  return `${request.route === 'chat' ? 'chatcmpl' : 'cmpl'}-${request.requestId}`;
}

/** The members every chunk and every answer begins with. */
export function answerHead(request: GenerationRequest, object: string): JsonObject {
  const model = request.body['model'];
  return {
    id: answerId(request),
    object,
    created: request.created ?? 1_700_000_000,
    model: typeof model === 'string' ? model : 'example/model',
  };
}
