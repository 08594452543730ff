import { badBody, badRequest, modelNotFound, type Refusal, unauthorized } from './envelope';
import { type Prompt, promptsOf } from './generation-request';
import { isJsonObject, type JsonObject } from './raw-json';
import { refuseLimits } from './refuse-limits';
import { refuseTools } from './refuse-tools';
import { routeOf, type StubCall } from './stub-call';

/** What an engine knows when it checks a call. */
export interface EngineFacts {
  readonly model: string;
  readonly apiKey: string | undefined;
  readonly maxModelLen: number;
}

/** 401 for a wrong key on a path under `/v1`; the scheme is matched without case, the key exactly. */
export function refuseKey(call: StubCall, facts: EngineFacts): Refusal | undefined {
  if (facts.apiKey === undefined || !call.path.startsWith('/v1/')) return undefined;
  const [scheme = '', ...rest] = (call.headers.authorization ?? '').split(' ');
  return scheme.toLowerCase() === 'bearer' && rest.join(' ') === facts.apiKey ? undefined : unauthorized();
}

/** 400 for a body that is not declared as JSON or is none. */
export function refuseBody(call: StubCall): Refusal | undefined {
  const type = (call.headers['content-type'] ?? '').split(';')[0]!.trim().toLowerCase();
  if (type !== 'application/json')
    return badBody("Unsupported Media Type: Only 'application/json' is allowed");
  if (call.json === undefined) return badBody('1 validation error: JSON decode error', 'body');
  return undefined;
}

function refuseInput(route: 'chat' | 'completions', body: JsonObject): Refusal | undefined {
  if (route === 'chat') {
    const messages = body['messages'];
    if (!Array.isArray(messages)) return badBody('1 validation error: messages: Field required', 'messages');
    if (messages.length === 0) return badRequest('list object has no element 0', 'messages');
    const good = messages.every((item) => isJsonObject(item) && typeof item['role'] === 'string');
    return good ? undefined : badBody('1 validation error: messages: role is required', 'messages');
  }
  const prompt = body['prompt'];
  const empty = prompt == null || ((typeof prompt === 'string' || Array.isArray(prompt)) && !prompt.length);
  if (empty && body['prompt_embeds'] == null) {
    return badBody('Either prompt or prompt_embeds must be provided and non-empty.', 'prompt');
  }
  return empty || typeof prompt === 'string' || Array.isArray(prompt)
    ? undefined
    : badBody('1 validation error: prompt', 'prompt');
}

function refuseShape(body: JsonObject): Refusal | undefined {
  const options = body['stream_options'];
  if (isJsonObject(options) && Object.keys(options).length > 0 && body['stream'] !== true) {
    return badBody('Stream options can only be defined when `stream=True`.', 'stream_options');
  }
  const transfer = body['kv_transfer_params'];
  if (transfer != null && !isJsonObject(transfer)) {
    return badBody(
      '1 validation error: kv_transfer_params: Input should be a valid dictionary',
      'kv_transfer_params',
    );
  }
  for (const name of ['stream', 'echo', 'ignore_eos', 'return_token_ids']) {
    if (body[name] != null && typeof body[name] !== 'boolean') {
      return badBody(`1 validation error: ${name}: Input should be a valid boolean`, name);
    }
  }
  if (body['use_beam_search'] === true && body['stream'] === true) {
    return badRequest('Streaming is not supported with beam search', 'use_beam_search');
  }
  const salt = body['cache_salt'];
  if (salt != null && (typeof salt !== 'string' || salt === '')) {
    return badBody("Parameter 'cache_salt' must be a non-empty string if provided.", 'cache_salt');
  }
  return undefined;
}

function refuseText(prompts: readonly Prompt[]): Refusal | undefined {
  if (!prompts.some((prompt) => /\p{Surrogate}/u.test(prompt.text))) return undefined;
  // Half a character breaks the engine's tokenizer, which answers as if it were the engine's own fault.
  return {
    status: 500,
    body: {
      error: {
        message: 'TextEncodeInput must be str',
        type: 'InternalServerError',
        param: null,
        code: 500,
      },
    },
  };
}

/**
 * What a real vLLM would refuse of a completion call, with its own envelope (vLLM
 * entrypoints/openai/{chat_completion,completion}/protocol.py and serving.py).
 *
 * @returns undefined when the engine would take the call
 */
export function refuseCompletion(call: StubCall, facts: EngineFacts): Refusal | undefined {
  const early = refuseBody(call);
  const route = routeOf(call.path);
  if (early !== undefined || route === undefined || call.json === undefined) return early;
  const body = call.json;
  const shape = refuseShape(body) ?? refuseInput(route, body);
  if (shape !== undefined) return shape;
  const model = body['model'];
  if (model != null && typeof model !== 'string') return badBody('1 validation error: model', 'model');
  if (typeof model === 'string' && model !== facts.model) return modelNotFound(model);
  const prompts = promptsOf(body);
  return (
    refuseLimits(route, body, prompts, facts.maxModelLen) ??
    (route === 'chat' ? refuseTools(body) : undefined) ??
    refuseText(prompts)
  );
}
