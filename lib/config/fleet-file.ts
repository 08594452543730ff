/** From a fleet file, or the object in it, to a checked and frozen `FleetConfig`. */
import { readFileSync } from 'node:fs';
import { dirname, isAbsolute, resolve } from 'node:path';
import Ajv, { type ValidateFunction } from 'ajv';
import { ConfigError } from '../errors';
import { parseEngineUrl } from './engine-url';
import { fleetProblems, ignoredPaths, member, type RawObject, readApiKey, resolveUrl } from './fleet-checks';
import type { EngineConfig, EngineRole, EngineSectionConfig, FleetConfig, SloConfig } from './fleet-config';
import { CONTROLLER, ENGINE, type Field, type Fields, FLEET_SCHEMA, RECOVERY, SERVING } from './fleet-schema';
import { findJsonFault } from './json-fault';
import { schemaProblems } from './schema-problems';

export type { EngineConfig, EngineRole, FleetConfig } from './fleet-config';

/** Where variables and messages come from. */
export interface ParseFleetOptions {
  /** The environment for `${NAME}` and for the engines' key; default `process.env`. */
  readonly env?: NodeJS.ProcessEnv | undefined;
  /** What messages call the fleet; default `the fleet`. */
  readonly source?: string | undefined;
}

let compiled: ValidateFunction | undefined;

function structuralProblems(config: unknown): string[] {
  // No coercion and no defaults: ajv would write them into the caller's own object.
  compiled ??= new Ajv({ allErrors: true, verbose: true, allowUnionTypes: true }).compile(FLEET_SCHEMA);
  return compiled(config) ? [] : schemaProblems(compiled.errors ?? []);
}

/**
 * Checks a fleet and fills in its defaults.
 *
 * @param config the parsed content of a fleet file. Never changed, never kept.
 * @returns a new object, frozen to the depth; durations in seconds, sizes in bytes.
 * @throws {ConfigError} with every problem, each naming its path.
 */
export function parseFleet(config: unknown, options: ParseFleetOptions = {}): FleetConfig {
  const env = options.env ?? process.env;
  if (typeof (config as { fleetFile?: unknown } | null | undefined)?.fleetFile === 'function') {
    throw new ConfigError('this is a stub fleet, not the content of a fleet file: give its fleetFile()');
  }
  const problems = [...structuralProblems(config), ...fleetProblems(config, env)];
  if (problems.length > 0) {
    const count = problems.length === 1 ? '1 problem' : `${problems.length} problems`;
    throw new ConfigError(`${options.source ?? 'the fleet'} has ${count}`, problems);
  }
  const raw = config as RawObject;
  return Object.freeze({
    model: raw['model'] as string,
    engines: Object.freeze((raw['engines'] as readonly RawObject[]).map((one) => readEngine(one, env))),
    slo: readSlo(member(raw, 'slo')),
    serving: Object.freeze(readSection(SERVING, member(raw, 'serving'))),
    engine: readEngineSection(member(raw, 'engine'), env),
    recovery: Object.freeze(readSection(RECOVERY, member(raw, 'recovery'))),
    controller: Object.freeze(readSection(CONTROLLER, member(raw, 'controller'))),
    ignored: Object.freeze(ignoredPaths(raw)),
  });
}

/**
 * Reads and checks a fleet file.
 *
 * @param path the file: JSON in UTF-8; a byte order mark is skipped.
 * @throws {ConfigError} naming the file: it cannot be read, is not JSON (with line and column), says a
 * key twice, or has problems (see `parseFleet`).
 */
export function loadFleetFile(path: string, options: { env?: NodeJS.ProcessEnv } = {}): FleetConfig {
  const source = `the fleet file ${path}`;
  const text = readText(path, source);
  const fault = findJsonFault(text);
  if (fault !== null) {
    throw new ConfigError(`${source}, line ${fault.line}, column ${fault.column}: ${fault.message}`);
  }
  return parseFleet(JSON.parse(text), { env: options.env, source });
}

/** @returns the value of `NARWHAL_FLEET`, else `./fleet.json`. */
export function defaultFleetPath(env: NodeJS.ProcessEnv = process.env): string {
  const named = env['NARWHAL_FLEET'];
  return named === undefined || named === '' ? './fleet.json' : named;
}

function readText(path: string, source: string): string {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    throw new ConfigError(`${source} cannot be read: ${whyUnreadable(path, error as NodeJS.ErrnoException)}`);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new ConfigError(`${source} is not UTF-8`);
  }
}

/** What stands in the way, and what to do about it. */
function whyUnreadable(path: string, { code, message }: NodeJS.ErrnoException): string {
  const ways = 'the option fleet of narwhalRouter, the flag --fleet, or the variable NARWHAL_FLEET';
  switch (code) {
    case 'ENOENT': {
      const where = isAbsolute(path) ? '' : ` in ${dirname(resolve(path))}`;
      return `there is no such file${where}. Name the file by ${ways}`;
    }
    case 'EISDIR':
      return `it is a folder. Name the file in it by ${ways}`;
    case 'EACCES':
    case 'EPERM':
      return 'this user may not read it. Change its owner or its mode';
    case undefined:
    default:
      return message;
  }
}

/** The one converter from the file's keys to names in code. Units stay as they are. */
function readSection<T>(fields: Fields<T>, section: unknown): T {
  const entries = Object.entries<Field<unknown>>(fields).map(([name, { key, fallback }]) => {
    return [name, member(section, key) ?? fallback];
  });
  return Object.fromEntries(entries) as T;
}

function readEngine(raw: RawObject, env: NodeJS.ProcessEnv): EngineConfig {
  const resolved = resolveUrl(raw['url'] as string, env);
  if (resolved.problem !== null) throw new ConfigError(resolved.problem);
  const parts = parseEngineUrl(resolved.value);
  if (parts.problem !== null) throw new ConfigError(parts.problem);
  return Object.freeze({
    iid: raw['iid'] as string,
    url: resolved.value,
    origin: parts.origin,
    prefix: parts.prefix,
    role: (member(raw, 'role') ?? 'decode') as EngineRole,
    pin: member(raw, 'pin') === true,
  });
}

function readSlo(raw: unknown): SloConfig | null {
  if (raw === undefined || raw === null) return null;
  const target = (key: string) => (member(raw, key) ?? null) as number | null;
  return Object.freeze({ ttftS: target('ttft_s'), tpotS: target('tpot_s') });
}

function readEngineSection(raw: unknown, env: NodeJS.ProcessEnv): EngineSectionConfig {
  const key = readApiKey(member(raw, 'engine_api_key_env'), env);
  if (key.problem !== null) throw new ConfigError(key.problem);
  const { value } = key;
  // A getter that is not enumerable: JSON, loggers and util.inspect (showHidden too) never see the key.
  const section = Object.defineProperty(readSection(ENGINE, raw), 'apiKey', { get: () => value });
  return Object.freeze(section as EngineSectionConfig);
}
