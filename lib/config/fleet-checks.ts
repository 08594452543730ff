/** What a schema cannot say of a fleet file: variables, URLs, unique names, roles, the engines' key. */
import { parseEngineUrl } from './engine-url';
import { IGNORED_SECTIONS } from './fleet-schema';
import { fieldPath } from './schema-problems';

/** An object of unknown content. */
export type RawObject = Readonly<Record<string, unknown>>;

/** A value, or what is wrong with it. */
export type Checked<T> = { readonly value: T; readonly problem: null } | { readonly problem: string };

const VARIABLE = /^\$\{([A-Za-z_][A-Za-z0-9_]*)\}$/;
const VARIABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** True for an object that is not an array. */
export function isObject(value: unknown): value is RawObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An object's own member; nothing of its prototype. */
export function member(object: unknown, key: string): unknown {
  return isObject(object) && Object.hasOwn(object, key) ? object[key] : undefined;
}

/** The URL as it counts: itself, or the value of the variable where it is exactly `${NAME}`. */
export function resolveUrl(written: string, env: NodeJS.ProcessEnv): Checked<string> {
  const name = VARIABLE.exec(written)?.[1];
  if (name === undefined) {
    if (!written.includes('${')) return { value: written, problem: null };
    return { problem: 'a variable must be the whole URL, with nothing before or after it' };
  }
  const value = env[name];
  if (value === undefined) return { problem: `the environment variable ${name} is not set` };
  if (value === '') return { problem: `the environment variable ${name} is empty` };
  return { value, problem: null };
}

/**
 * The engines' key, from the variable that the file names.
 *
 * @returns null where none is named. A problem never repeats the key.
 */
export function readApiKey(name: unknown, env: NodeJS.ProcessEnv): Checked<string | null> {
  if (typeof name !== 'string' || name === '') return { value: null, problem: null };
  // Somebody may have put the key itself here: do not repeat it.
  if (!VARIABLE_NAME.test(name)) {
    return { problem: 'must be the name of an environment variable, not the key itself' };
  }
  const key = env[name];
  if (key === undefined) return { problem: `the environment variable ${name} is not set` };
  if (key === '') return { problem: `the environment variable ${name} is empty` };
  if (!/^[!-~]([ -~]*[!-~])?$/.test(key)) {
    return { problem: `the value of ${name} holds characters that cannot stand in a header` };
  }
  return { value: key, problem: null };
}

/**
 * Every problem beyond the schema. Works on any value, so that one run tells them all.
 *
 * @returns lines such as `engines[1].url: must be an http(s) URL`.
 */
export function fleetProblems(raw: unknown, env: NodeJS.ProcessEnv): string[] {
  const engines = member(raw, 'engines');
  const problems = Array.isArray(engines) ? engineProblems(engines, env) : [];
  const key = readApiKey(member(member(raw, 'engine'), 'engine_api_key_env'), env);
  if (key.problem !== null) problems.push(`engine.engine_api_key_env: ${key.problem}`);
  const admission = member(member(raw, 'serving'), 'admission');
  const target = member(member(raw, 'slo'), 'ttft_s') ?? null;
  if ((admission === 'predictive' || admission === 'shadow') && target === null) {
    problems.push(`serving.admission: ${admission} needs slo.ttft_s`);
  }
  return problems;
}

function engineProblems(engines: readonly unknown[], env: NodeJS.ProcessEnv): string[] {
  const problems: string[] = [];
  const owners = new Map<string, number>();
  engines.forEach((engine, index) => {
    const url = member(engine, 'url');
    const problem = typeof url === 'string' ? urlProblem(url, env) : null;
    if (problem !== null) problems.push(`engines[${index}].url: ${problem}`);
    const iid = member(engine, 'iid');
    if (typeof iid !== 'string') return;
    const owner = owners.get(iid);
    if (owner === undefined) owners.set(iid, index);
    else problems.push(`engines[${index}].iid: is already the iid of engines[${owner}]`);
  });
  const roles = new Set(engines.map((engine) => member(engine, 'role') ?? 'decode'));
  // An engine with a role that does not exist has its own line; who knows what it was meant to be.
  const readable = engines.every(isObject) && [...roles].every(isRole);
  const complete = roles.has('both') || (roles.has('prefill') && roles.has('decode'));
  if (engines.length > 0 && readable && !complete) {
    problems.push('engines: needs at least one prefill and one decode engine, or one of role both');
  }
  return problems;
}

function isRole(role: unknown): boolean {
  return role === 'prefill' || role === 'decode' || role === 'both';
}

function urlProblem(written: string, env: NodeJS.ProcessEnv): string | null {
  const resolved = resolveUrl(written, env);
  if (resolved.problem !== null) return resolved.problem;
  const { problem } = parseEngineUrl(resolved.value);
  return problem === null || resolved.value === written ? problem : `${problem} (value of ${written})`;
}

/**
 * What a lawful fleet holds that the library does not act on.
 *
 * @returns paths: the ignored sections, and every key that starts with `_`.
 */
export function ignoredPaths(raw: RawObject): string[] {
  const paths: string[] = [];
  const walk = (value: unknown, steps: readonly string[]): void => {
    if (typeof value !== 'object' || value === null) return;
    for (const [key, inner] of Object.entries(value)) {
      const path = [...steps, key];
      const unused = key.startsWith('_') || (steps.length === 0 && IGNORED_SECTIONS.includes(key));
      if (unused) paths.push(fieldPath(path));
      else walk(inner, path);
    }
  };
  walk(raw, []);
  return paths;
}
