/** Is one engine there, does it take the key, does it serve the model, which version is it. */
import { nanoid } from 'nanoid';
import type { EngineConfig } from '../../config/fleet-config';
import { failedCompletion, keyRefused, modelMissing, silence, words } from './advice';
import type { EngineCaller, Reply } from './call';
import { completionBody, hasChoice } from './completion';
import type { EngineReport, Mark, Problem } from './report';

/** What is checked against. */
export interface CheckBasis {
  readonly caller: EngineCaller;
  readonly model: string;
  /** Name of the variable with the engines' key, or null. */
  readonly keyVariable: string | null;
}

/** One engine's part of the report. */
export interface EngineFinding {
  readonly report: EngineReport;
  readonly problems: readonly Problem[];
}

/** Asks `/health`, `/v1/models` and `/version`; an engine of role `both` also for one token. */
export async function checkEngine(basis: CheckBasis, engine: EngineConfig): Promise<EngineFinding> {
  const { caller } = basis;
  const problems: Problem[] = [];
  const { iid, role, url } = engine;
  const found: { -readonly [K in keyof EngineReport]: EngineReport[K] } = {
    iid,
    role,
    url,
    reachable: '-',
    key: '-',
    model: '-',
    answer: '-',
    version: null,
    max_model_len: null,
  };
  const fail = (text: string): 'FAILED' => {
    problems.push({ level: 'error', subject: iid, text });
    return 'FAILED';
  };
  const health = await caller.ask(engine, { path: '/health', body: null, id: null });
  const trouble = silence(engine, health) ?? unwell(health, basis.keyVariable);
  found.reachable = trouble === null ? 'ok' : fail(trouble);
  if (found.reachable === 'ok') {
    const models = await caller.ask(engine, { path: '/v1/models', body: null, id: null });
    Object.assign(found, judgeModels(basis, engine, models, fail));
    found.version = versionOf(await caller.ask(engine, { path: '/version', body: null, id: null }));
  }
  if (role === 'both' && found.model === 'ok') found.answer = await checkAnswer(basis, engine, fail);
  return { report: found, problems };
}

function unwell(reply: Reply, keyVariable: string | null): string | null {
  const { status } = reply;
  if (status >= 200 && status < 300) return null;
  if (status === 401 || status === 403) return keyRefused(status, keyVariable);
  // Not every server has it: /v1/models tells then whether this is one.
  if (status === 404) return null;
  return `says at /health that it is not well (${words(reply)}): look into its log`;
}

type ModelsPart = Pick<EngineReport, 'key' | 'model' | 'max_model_len'>;

function judgeModels(
  { model, keyVariable }: CheckBasis,
  engine: EngineConfig,
  reply: Reply,
  fail: (text: string) => Mark,
): ModelsPart {
  const part: ModelsPart = { key: '-', model: '-', max_model_len: null };
  const trouble = silence(engine, reply);
  if (trouble !== null) return { ...part, model: fail(trouble) };
  const { status } = reply;
  if (status === 401 || status === 403) return { ...part, key: fail(keyRefused(status, keyVariable)) };
  const cards = status === 200 ? modelCards(reply.body) : null;
  if (cards === null) {
    const text = `has no list of models at ${engine.url}/v1/models (${words(reply)}): is its url right, without /v1?`;
    return { ...part, model: fail(text) };
  }
  const card = cards.find(({ id }) => id === model);
  if (card === undefined) {
    const served = cards.map(({ id }) => id);
    return { ...part, key: 'ok', model: fail(modelMissing(model, served)) };
  }
  const { max_model_len: length } = card;
  return { key: 'ok', model: 'ok', max_model_len: typeof length === 'number' ? length : null };
}

interface ModelCard {
  readonly id: string;
  readonly max_model_len?: unknown;
}

function modelCards(body: Buffer): ModelCard[] | null {
  const { data } = (parse(body) ?? {}) as { data?: unknown };
  if (!Array.isArray(data)) return null;
  return data.filter((card): card is ModelCard => typeof (card as ModelCard | null)?.id === 'string');
}

/** Null for a server that has no such page, or one of another kind. */
function versionOf({ status, body }: Reply): string | null {
  const value = status === 200 ? (parse(body) as { version?: unknown } | null) : null;
  return typeof value?.version === 'string' ? value.version : null;
}

async function checkAnswer(
  { caller, model }: CheckBasis,
  engine: EngineConfig,
  fail: (text: string) => Mark,
): Promise<Mark> {
  const id = `check-${nanoid()}-single`;
  const reply = await caller.ask(engine, completionBody(model, id, id, null));
  return reply.status === 200 && hasChoice(reply.body)
    ? 'ok'
    : fail(failedCompletion('a request for one token', reply));
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8')) as unknown;
  } catch {
    return null;
  }
}
