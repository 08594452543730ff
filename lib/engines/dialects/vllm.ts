/**
 * vLLM's OpenAI server: what its errors look like.
 *
 * Sources: `entrypoints/openai/server_utils.py`, `serve/utils/error_response.py`; the nested envelope is
 * of 0.10.1 (PR #22099), the flat one older; a wrong key is answered with a bare string.
 */
import { parseObject } from '../../json/parse-object';
import type { EngineRefusal } from '../fault';
import type { Dialect, ErrorReading } from './dialect';
import { VLLM_FIELDS } from './vllm-fields';

/** Longest error text that is passed on. */
const MAX_MESSAGE = 4000;

interface ErrorWords {
  readonly message: string;
  readonly type: string | null;
  readonly param: string | null;
  readonly code: string | number | null;
}

function readError(status: number, body: string): ErrorReading {
  const words = errorWords(body);
  if (status === 401 || status === 403) return { kind: 'auth', text: words.message };
  if (status === 408 || status === 504) return { kind: 'timeout', text: words.message };
  if (status === 429 || status === 503) return { kind: 'overloaded', text: words.message };
  if (status >= 400 && status < 500) return { kind: 'refusal', refusal: refusalOf(status, words) };
  return { kind: 'error', text: words.message };
}

function refusalOf(status: number, words: ErrorWords): EngineRefusal {
  const tooLong = /maximum context length|context_length_exceeded|longer than the maximum model length/i;
  const code = tooLong.test(words.message) ? 'context_length_exceeded' : words.code;
  const message =
    words.message === '' ? `the engine refused the request with status ${status}` : words.message;
  return { status, type: words.type ?? 'invalid_request_error', param: words.param, code, message };
}

/** Accepts an error object, an error string, the flat form, and text that is not JSON. */
function errorWords(body: string): ErrorWords {
  const parsed = parseObject(body);
  if (parsed === null) return bare(body);
  const { error } = parsed;
  if (typeof error === 'string') return bare(error);
  const source = isObject(error) ? error : parsed;
  const { message, detail, type, param, code } = source;
  return {
    message: cut(text(message) ?? text(detail) ?? ''),
    type: text(type),
    param: text(param),
    code: typeof code === 'number' || typeof code === 'string' ? code : null,
  };
}

function bare(message: string): ErrorWords {
  return { message: cut(message.trim()), type: null, param: null, code: null };
}

function frameStatus(frame: unknown): number {
  if (!isObject(frame)) return 500;
  const source = isObject(frame['error']) ? frame['error'] : frame;
  const code = Number(source['code']);
  return Number.isInteger(code) && code >= 400 && code <= 599 ? code : 500;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function text(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

function cut(message: string): string {
  return message.length > MAX_MESSAGE ? `${message.slice(0, MAX_MESSAGE)}...` : message;
}

export const vllm: Dialect = Object.freeze({ name: 'vllm', fields: VLLM_FIELDS, readError, frameStatus });
