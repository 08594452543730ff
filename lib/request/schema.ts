/** The fields of a body that are checked, and the exact words of each refusal (contract: section 4). */
import { Ajv, type ErrorObject } from 'ajv';
import { NarwhalError } from '../errors';
import type { BodyValue } from './parsed-body';
import { isObject, isPresent, own } from './values';

/** The two completion routes. */
export type Route = 'completion' | 'chat';

/** Top-level members that are the router's own: a client's value never reaches an engine. */
export const RESERVED_FIELDS = Object.freeze([
  'kv_transfer_params',
  'ec_transfer_params',
  'request_id',
  'rid',
  'bootstrap_host',
  'bootstrap_port',
  'bootstrap_room',
] as const);

/** Keys of `vllm_xargs` by which a client could steer the transfer of KV caches. */
const RESERVED_XARGS = ['kv_transfer_params', 'ec_transfer_params', 'kv_cache_report_mode'];

const STRING = { schema: { type: ['string', 'null'] }, words: 'a string' };
const BOOLEAN = { schema: { type: ['boolean', 'null'] }, words: 'a boolean' };
const INTEGER = { schema: { type: ['integer', 'null'] }, words: 'an integer' };
const TEXT_OR_ARRAY = { schema: { type: ['string', 'array', 'null'] }, words: 'a string or an array' };
const OBJECTS = { schema: { type: ['array', 'null'], items: { type: 'object' } }, words: 'an array' };

/** Checked in this order; the first wrong field is the one that is reported. */
const FIELDS = new Map([
  ['model', STRING],
  ['stream', BOOLEAN],
  ['n', INTEGER],
  ['best_of', INTEGER],
  ['max_tokens', INTEGER],
  ['max_completion_tokens', INTEGER],
  ['prompt', TEXT_OR_ARRAY],
  ['messages', OBJECTS],
]);

/** The checks of a body. Each looks at own members only, changes nothing, and returns the refusal. */
export interface BodyChecks {
  /** Types of the fields that the router reads; null means absent. */
  checkFieldTypes(value: BodyValue): NarwhalError | null;
  /** Engine arguments that are the router's. `RESERVED_FIELDS` are dropped instead, by who splices. */
  checkReserved(value: BodyValue): NarwhalError | null;
  /** Output that an assembled answer cannot carry; a streamed one can, so nothing is refused there. */
  checkOutputOptions(value: BodyValue): NarwhalError | null;
  /** @param models every name that is served. */
  checkModel(value: BodyValue, models: readonly string[]): NarwhalError | null;
  /** The one-token prefill and the decode must share one sampling width. */
  checkSamplingWidth(value: BodyValue): NarwhalError | null;
  /** The prompt that the route needs. An empty list counts as missing, an empty string does not. */
  checkRequired(value: BodyValue, route: Route): NarwhalError | null;
}

/** Builds the checks; the schema is compiled here, once per caller. */
export function createBodyChecks(): BodyChecks {
  const ajv = new Ajv({ strict: true, allowUnionTypes: true, ownProperties: true });
  const properties = Object.fromEntries([...FIELDS].map(([name, { schema }]) => [name, schema]));
  const validate = ajv.compile({ type: 'object', properties });
  return {
    checkFieldTypes(value) {
      const [error] = validate(value) ? [] : (validate.errors ?? []);
      return error === undefined ? null : wrongType(error);
    },
    checkReserved,
    checkOutputOptions,
    checkModel,
    checkSamplingWidth,
    checkRequired,
  };
}

function wrongType({ instancePath }: ErrorObject): NarwhalError {
  const [, param = '', item] = instancePath.split('/');
  const message =
    item === undefined
      ? `${param} must be ${FIELDS.get(param)?.words}`
      : `every item in ${param} must be an object`;
  return new NarwhalError('badFieldType', message, { param });
}

export function checkReserved(value: BodyValue): NarwhalError | null {
  const xargs = own(value, 'vllm_xargs');
  const key = isObject(xargs) ? RESERVED_XARGS.find((name) => Object.hasOwn(xargs, name)) : undefined;
  if (key === undefined) return null;
  return new NarwhalError('reservedField', `vllm_xargs must not set ${key}`, { param: 'vllm_xargs' });
}

export function checkOutputOptions(value: BodyValue): NarwhalError | null {
  if (own(value, 'stream') === true) return null;
  if (isPresent(own(value, 'audio'))) return badOption('audio', 'is not supported');
  const modalities = own(value, 'modalities');
  if (isPresent(modalities) && !isTextOnly(modalities)) return badOption('modalities', 'must be ["text"]');
  const tools = own(value, 'tools');
  if (!isPresent(tools)) return null;
  if (!Array.isArray(tools) || !tools.every(isObject))
    return badOption('tools', 'must be an array of objects');
  if (!tools.every(isFunctionTool)) return badOption('tools', 'must all be of type function');
  return null;
}

function badOption(param: string, words: string): NarwhalError {
  return new NarwhalError('badOutputOption', `${param} ${words}`, { param });
}

function isTextOnly(modalities: unknown): boolean {
  return Array.isArray(modalities) && modalities.length === 1 && modalities[0] === 'text';
}

function isFunctionTool(tool: BodyValue): boolean {
  const type = own(tool, 'type');
  return type === undefined || type === 'function';
}

export function checkModel(value: BodyValue, models: readonly string[]): NarwhalError | null {
  const model = own(value, 'model');
  if (!isPresent(model) || models.includes(model as string)) return null;
  return new NarwhalError('unknownModel', 'the model does not exist or is not served here', {
    param: 'model',
  });
}

export function checkSamplingWidth(value: BodyValue): NarwhalError | null {
  for (const param of ['n', 'best_of']) {
    const width = own(value, param);
    if (isPresent(width) && width !== 1) return badWidth(param, 'must be 1');
  }
  // Engines read 1 and "true" as true, so that only a plain false is let through.
  const beam = own(value, 'use_beam_search');
  return isPresent(beam) && beam !== false ? badWidth('use_beam_search', 'must be false') : null;
}

function badWidth(param: string, words: string): NarwhalError {
  return new NarwhalError('badSamplingWidth', `${param} ${words}`, { param });
}

export function checkRequired(value: BodyValue, route: Route): NarwhalError | null {
  const param = route === 'chat' ? 'messages' : 'prompt';
  if (isFilled(own(value, param))) return null;
  if (route === 'completion' && isFilled(own(value, 'prompt_embeds'))) return null;
  return new NarwhalError('missingField', `${param} is required`, { param });
}

function isFilled(value: unknown): boolean {
  return isPresent(value) && !(Array.isArray(value) && value.length === 0);
}
