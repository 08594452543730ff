import { STATUS_CODES } from 'node:http';
import type { JsonObject } from './raw-json';

/** An answer that refuses: its status and its JSON body. */
export interface Refusal {
  readonly status: number;
  readonly body: JsonObject;
}

function refusal(status: number, type: string, message: string, param: string | null): Refusal {
  return { status, body: { error: { message, type, param, code: status } } };
}

/**
 * vLLM's refusal of a body that does not fit its schema: 400 with the HTTP phrase as type
 * (entrypoints/openai/server_utils.py).
 */
export function badBody(message: string, param: string | null = null): Refusal {
  return refusal(400, 'Bad Request', message, param);
}

/** vLLM's refusal by the serving layer: 400 `BadRequestError`. */
export function badRequest(message: string, param: string | null = null): Refusal {
  return refusal(400, 'BadRequestError', message, param);
}

/** 404 for a model that is not served. */
export function modelNotFound(model: string): Refusal {
  return refusal(404, 'NotFoundError', `The model \`${model}\` does not exist.`, 'model');
}

/** 401: here `error` is a string. */
export function unauthorized(): Refusal {
  return { status: 401, body: { error: 'Unauthorized' } };
}

const TYPES: Readonly<Record<number, string>> = {
  400: 'BadRequestError',
  404: 'NotFoundError',
  500: 'InternalServerError',
  501: 'NotImplementedError',
};

/** The envelope for any other status; the type is the HTTP phrase where vLLM has no name of its own. */
export function plainRefusal(status: number, message?: string): Refusal {
  const phrase = STATUS_CODES[status] ?? 'Error';
  return refusal(status, TYPES[status] ?? phrase, message ?? phrase, null);
}

/** What vLLM says when an engine failed inside, a KV load among others. */
export const INTERNAL_ERROR = {
  message: 'Internal server error',
  type: 'InternalServerError',
  param: null,
  code: 500,
} as const;
