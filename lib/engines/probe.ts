/** Is an engine well: `/health`, and a one-token request through both legs. */
import { nanoid } from 'nanoid';
import type { FleetConfig } from '../config/fleet-config';
import { parseObject } from '../json/parse-object';
import { ask, type SmallAnswer } from './ask';
import type { Connector } from './connectors/connector';
import type { Engine } from './engine';
import type { Handoff, HandoffLedger } from './ledger';
import type { Transport } from './transport';

/** What probing needs of a fleet. */
export interface Probing {
  readonly config: FleetConfig;
  readonly transport: Transport;
  readonly connector: Connector;
  readonly ledger: HandoffLedger;
  /** A live engine of a role, the least loaded; null where there is none. */
  readonly partner: (role: 'prefill' | 'decode') => Engine | null;
}

/** A key or a whole value: inside a JSON string the quotes would be escaped. */
const ERROR = Buffer.from('"error"');

/** Asks `/health`. */
export async function probeHealth(
  probing: Probing,
  engine: Engine,
): Promise<{ ok: boolean; refused: boolean }> {
  const { config, transport } = probing;
  const question = { method: 'GET', path: '/health', headers: headersFor(config), body: null } as const;
  const { status, refused } = await ask(transport, engine, question, config.engine.healthTimeoutS);
  // Servers of other kinds may lack the page (Ollama does): that they say so is a sign of life.
  const lacksPage = status === 404 && engine.config.role === 'both';
  return { ok: status === 200 || lacksPage, refused };
}

/**
 * Sends one token through an engine, with a live partner for the other leg.
 *
 * A handoff that the probe makes is always offered to a decode engine, so that none is left behind; where
 * none is live, no handoff is made.
 *
 * @returns whether the engine did its part. Without a partner only its own leg is judged; a decode
 *   engine without a prefill partner cannot be judged and passes.
 */
export async function probeInference(probing: Probing, engine: Engine): Promise<boolean> {
  const id = `probe-${nanoid()}`;
  const { role } = engine.config;
  if (role === 'both') return (await oneToken(probing, engine, `${id}-single`, '')).status === 200;
  const producer = role === 'prefill' ? engine : probing.partner('prefill');
  if (producer === null) return true;
  const consumer = role === 'decode' ? engine : probing.partner('decode');
  if (consumer === null) return (await oneToken(probing, producer, `${id}-single`, '')).status === 200;
  const handoff = await prefill(probing, producer, id);
  if (handoff === null) return role === 'decode';
  return (await consume(probing, consumer, handoff, id)) || role === 'prefill';
}

/**
 * Offers a handoff to a decode engine; one that it surely did not take goes to another.
 *
 * Streamed, as requests are: then a status says whether it was taken. Without a stream, a KV load failure
 * comes as a 500 as well.
 */
async function consume(probing: Probing, consumer: Engine, handoff: Handoff, id: string): Promise<boolean> {
  const taking = `,"kv_transfer_params":${handoff.text.toString('utf8')}`;
  const streamed = `${taking},"stream":true`;
  const { status, sent, body } = await oneToken(probing, consumer, `${id}-decode`, streamed);
  if (status === 200) {
    handoff.settle('claimed');
    return !body.includes(ERROR);
  }
  const other = !sent || status >= 300 ? probing.partner('decode') : null;
  const isReclaimed =
    other !== null &&
    other !== consumer &&
    (await oneToken(probing, other, `${id}-reclaim`, taking)).status === 200;
  handoff.settle(isReclaimed ? 'reclaimed' : 'leased');
  return false;
}

async function prefill(probing: Probing, engine: Engine, id: string): Promise<Handoff | null> {
  const { connector } = probing;
  const asking = `,"kv_transfer_params":${connector.question}`;
  const { status, body } = await oneToken(probing, engine, `${id}-prefill`, asking);
  const value = status === 200 ? parseObject(body) : null;
  if (value === null) return null;
  const reading = connector.take(body, value);
  return reading.kind === 'handoff' ? probing.ledger.take(engine, reading.text) : null;
}

/** @param more raw text of further members, each behind a comma. */
function oneToken(probing: Probing, engine: Engine, id: string, more: string): Promise<SmallAnswer> {
  const { config, transport } = probing;
  const body = `{"model":${JSON.stringify(config.model)},"prompt":"ping","max_tokens":1,"ignore_eos":true${more}}`;
  const headers = { ...headersFor(config), 'content-type': 'application/json', 'x-request-id': id };
  const question = { method: 'POST', path: '/v1/completions', headers, body: Buffer.from(body) } as const;
  return ask(transport, engine, question, config.engine.healthTimeoutS);
}

function headersFor({ engine }: FleetConfig): Record<string, string> {
  return engine.apiKey === null ? {} : { authorization: `Bearer ${engine.apiKey}` };
}
