/** Checks of factory options: unknown keys with the nearest right name, ranges, functions. */
import { ConfigError } from './errors';

/**
 * Refuses unknown keys.
 *
 * @param owner name of the factory, for the message.
 * @param options what the caller gave; `undefined` counts as `{}`.
 * @param known every legal key.
 * @returns the options without keys whose value is `undefined` (which means "not given").
 * @throws {ConfigError} naming each unknown key and the nearest known one.
 */
export function checkOptions<T extends object>(
  owner: string,
  options: T | undefined,
  known: readonly (keyof T & string)[],
): Partial<T> {
  if (options === undefined) return {};
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new ConfigError(`${owner}: options must be an object`);
  }
  const problems: string[] = [];
  const given: Partial<T> = {};
  for (const key of Object.keys(options) as (keyof T & string)[]) {
    if (!known.includes(key)) {
      const near = nearest(key, known);
      problems.push(`unknown option ${key}${near === undefined ? '' : ` (did you mean ${near}?)`}`);
    } else if (options[key] !== undefined) {
      given[key] = options[key];
    }
  }
  throwProblems(owner, problems);
  return given;
}

/**
 * Makes several checks, so that one error tells of all that is wrong.
 *
 * @param owner name of the factory, with which the message of each check begins.
 * @returns what each check has returned, under its name.
 * @throws {ConfigError} for one bad check as it is, for several with all of them as `problems`.
 */
export function checkAll<T extends object>(
  owner: string,
  checks: { readonly [K in keyof T]: () => T[K] },
): T {
  const problems: string[] = [];
  const results: Partial<T> = {};
  for (const name of Object.keys(checks) as (keyof T)[]) {
    try {
      results[name] = checks[name]();
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      problems.push(...problemsOf(owner, error));
    }
  }
  throwProblems(owner, problems);
  return results as T;
}

function problemsOf(owner: string, { message, problems }: ConfigError): readonly string[] {
  if (problems.length > 0) return problems;
  const start = `${owner}: `;
  return [message.startsWith(start) ? message.slice(start.length) : message];
}

function throwProblems(owner: string, problems: readonly string[]): void {
  if (problems.length === 1) throw new ConfigError(`${owner}: ${problems[0]}`);
  if (problems.length > 1) throw new ConfigError(`${owner}: ${problems.length} problems`, problems);
}

/** What a number option must satisfy. */
export interface NumberRule {
  readonly min?: number;
  readonly max?: number;
  readonly integer?: boolean;
}

/** @throws {ConfigError} where the value is not a number within the rule. */
export function checkNumber(name: string, value: unknown, rule: NumberRule = {}): number {
  const problem = numberProblem(value, rule);
  if (problem !== null) throw new ConfigError(`${name} ${problem}`);
  return value as number;
}

/** What is wrong with a number; null where nothing is. */
export function numberProblem(value: unknown, { min, max, integer }: NumberRule): string | null {
  if (typeof value !== 'number' || !Number.isFinite(value)) return 'must be a number';
  if (integer === true && !Number.isInteger(value)) return 'must be a whole number';
  if (min !== undefined && value < min) return `must be at least ${min}`;
  if (max !== undefined && value > max) return `must be at most ${max}`;
  return null;
}

/** @throws {ConfigError} where the value is not one of the words. */
export function checkChoice<T extends string>(name: string, value: unknown, words: readonly T[]): T {
  if (!words.includes(value as T)) throw new ConfigError(`${name} must be one of ${words.join(', ')}`);
  return value as T;
}

/** @throws {ConfigError} where the value is not a function. */
export function checkFunction<T>(name: string, value: T): T {
  if (typeof value !== 'function') throw new ConfigError(`${name} must be a function`);
  return value;
}

/** The known word with the fewest edits from `word`, if it is near enough to be a misspelling. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  let best: string | undefined;
  let bestDistance = Math.max(2, Math.floor(word.length / 3)) + 1;
  for (const candidate of known) {
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const substitution = previous[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      current.push(Math.min(previous[j]! + 1, current[j - 1]! + 1, substitution));
    }
    previous = current;
  }
  return previous[b.length]!;
}
