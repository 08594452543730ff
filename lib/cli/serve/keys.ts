/** The keys that clients present: from a variable or a file. No message repeats one. */
import { readFileSync } from 'node:fs';
import { ConfigError } from '../../errors';
import type { ApiKeys } from '../../index';
import { DEFAULT_VARIABLE } from './defaults';

/** Where keys come from. */
export type KeySource =
  | { readonly kind: 'variable'; readonly name: string }
  | { readonly kind: 'file'; readonly path: string };

/** The source that the flags or the environment name; null for none: everyone may come in. */
export function keySource(
  variable: string | null,
  file: string | null,
  env: NodeJS.ProcessEnv,
): KeySource | null {
  if (file !== null) return { kind: 'file', path: file };
  if (variable !== null) return { kind: 'variable', name: variable };
  return env[DEFAULT_VARIABLE] === undefined ? null : { kind: 'variable', name: DEFAULT_VARIABLE };
}

/**
 * Reads the keys.
 *
 * @throws {ConfigError} where there are none: an empty variable must not open the gateway.
 */
export function readKeys(source: KeySource, env: NodeJS.ProcessEnv): ApiKeys {
  const where = describeSource(source);
  const text = source.kind === 'variable' ? variable(source.name, env) : file(source.path);
  const keys = parseKeys(text, where);
  if (Object.keys(keys).length > 0) return keys;
  throw new ConfigError(`${where} holds no key; unset it if everyone may come in`);
}

/** `the variable NAME` or `the file PATH`. */
export function describeSource(source: KeySource): string {
  return source.kind === 'variable' ? `the variable ${source.name}` : `the file ${source.path}`;
}

function variable(name: string, env: NodeJS.ProcessEnv): string {
  const text = env[name];
  if (text !== undefined) return text;
  throw new ConfigError(`the variable ${name} is not set; it must hold the keys that clients present`);
}

function file(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new ConfigError(`the file ${path} with the keys cannot be read (${code})`);
  }
}

/** Keys parted by blanks, commas or line ends, with `#` comment lines; or JSON, as the option `apiKeys` takes it. */
function parseKeys(text: string, where: string): ApiKeys {
  if (!/^\s*[[{]/.test(text)) {
    const lines = text.split('\n').filter((line) => !line.trimStart().startsWith('#'));
    return lines.flatMap((line) => line.split(/[\s,]+/)).filter((key) => key !== '');
  }
  try {
    return JSON.parse(text) as ApiKeys;
  } catch {
    // Node's own message would repeat a piece of the text.
    throw new ConfigError(`${where} begins like JSON and is none`);
  }
}
