/** The names of the OpenTelemetry GenAI conventions, and what a request is called by them. No text of a client. */
import type { Attributes } from '@opentelemetry/api';
import type { RequestContext } from '../context';
import type { JournalRow } from '../journal/row';
import { isChatPath } from '../request/route';

/** What is the same for every span and measurement of a router. */
export interface Subject {
  /** The configured model: what a client asked for could be anything. */
  readonly model: string;
  /** What the engines are, e.g. `vllm`. */
  readonly provider: string;
}

/** `chat` or `text_completion`, by the path. */
export function operationOf(path: string): string {
  return isChatPath(path) ? 'chat' : 'text_completion';
}

/** What every span of a request has. */
export function commonAttributes({ model, provider }: Subject, operation: string): Attributes {
  return {
    'gen_ai.operation.name': operation,
    'gen_ai.provider.name': provider,
    'gen_ai.request.model': model,
  };
}

/** Numbers of the request that say how the engines were to sample; none of them is text. */
const SAMPLING = {
  max_tokens: 'gen_ai.request.max_tokens',
  max_completion_tokens: 'gen_ai.request.max_tokens',
  temperature: 'gen_ai.request.temperature',
  top_p: 'gen_ai.request.top_p',
  top_k: 'gen_ai.request.top_k',
  frequency_penalty: 'gen_ai.request.frequency_penalty',
  presence_penalty: 'gen_ai.request.presence_penalty',
} as const;

/** What is known of a request when it is over. */
export function endAttributes({ body }: RequestContext, row: JournalRow): Attributes {
  const attributes: Attributes = {
    'narwhal.request.id': row.rid,
    'narwhal.terminal': row.terminal,
    'narwhal.attempts': row.attempts,
    'http.response.status_code': row.status,
  };
  if (row.reason !== null) attributes['error.type'] = row.reason;
  if (row.stream !== null) attributes['gen_ai.request.stream'] = row.stream;
  if (row.input_len !== null) attributes['gen_ai.usage.input_tokens'] = row.input_len;
  if (row.output_len !== null) attributes['gen_ai.usage.output_tokens'] = row.output_len;
  if (row.finish_reason !== null) attributes['gen_ai.response.finish_reasons'] = [row.finish_reason];
  if (row.first_byte_s !== null) attributes['gen_ai.response.time_to_first_chunk'] = row.first_byte_s;
  if (row.queue_wait_s !== null) attributes['narwhal.queue_wait_s'] = row.queue_wait_s;
  if (row.cancelled_phase !== null) attributes['narwhal.cancelled_phase'] = row.cancelled_phase;
  for (const [field, name] of Object.entries(SAMPLING)) {
    const value = body?.outline[field];
    if (typeof value === 'number') attributes[name] = value;
  }
  return attributes;
}
