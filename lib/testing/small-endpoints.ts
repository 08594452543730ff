import { plainRefusal, type Refusal } from './envelope';
import { promptsOf } from './generation-request';
import { type EngineFacts, refuseBody } from './refusals';
import type { StubCall } from './stub-call';

/** Body and status of an answer that generates nothing. */
export interface SmallAnswer {
  readonly status: number;
  readonly type: string;
  readonly text: string;
}

function json(status: number, value: object): SmallAnswer {
  return { status, type: 'application/json', text: JSON.stringify(value) };
}

/** A refusal as an answer. */
export function refusalAnswer(refusal: Refusal): SmallAnswer {
  return json(refusal.status, refusal.body);
}

function models(facts: EngineFacts): SmallAnswer {
  const { model } = facts;
  const card = { id: model, object: 'model', created: 1_700_000_000, owned_by: 'vllm', root: model };
  return json(200, {
    object: 'list',
    data: [{ ...card, parent: null, max_model_len: facts.maxModelLen, permission: [] }],
  });
}

function tokenized(call: StubCall, facts: EngineFacts): SmallAnswer {
  const refused = refuseBody(call);
  if (refused !== undefined) return refusalAnswer(refused);
  const tokens = promptsOf(call.json ?? {}).flatMap((prompt) => [...prompt.tokenIds]);
  return json(200, {
    count: tokens.length,
    max_model_len: facts.maxModelLen,
    tokens,
    token_strs: null,
  });
}

function metrics(facts: EngineFacts, inFlight: number): SmallAnswer {
  const labels = `{engine="0",model_name="${facts.model}"}`;
  const text =
    `# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running${labels} ${inFlight}\n` +
    `# TYPE vllm:num_requests_waiting gauge\nvllm:num_requests_waiting${labels} 0\n`;
  return { status: 200, type: 'text/plain; version=0.0.4; charset=utf-8', text };
}

const METHODS: ReadonlyMap<string, string> = new Map([
  ['/health', 'GET'],
  ['/v1/models', 'GET'],
  ['/tokenize', 'POST'],
  ['/v1/completions', 'POST'],
  ['/v1/chat/completions', 'POST'],
]);

/** Answers of every endpoint but the completion routes; 404 and 405 as FastAPI gives them. */
export function smallAnswer(call: StubCall, facts: EngineFacts, inFlight: number): SmallAnswer {
  if (call.leg === 'health') return { status: 200, type: '', text: '' };
  if (call.leg === 'models') return models(facts);
  if (call.leg === 'tokenize') return tokenized(call, facts);
  if (call.method === 'GET' && call.path === '/version') return json(200, { version: '0.14.0' });
  if (call.method === 'GET' && call.path === '/metrics') return metrics(facts, inFlight);
  const method = METHODS.get(call.path);
  return refusalAnswer(plainRefusal(method !== undefined && method !== call.method ? 405 : 404));
}
