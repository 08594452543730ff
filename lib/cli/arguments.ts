/** Reads the arguments of a command; every mistake says what would be right. */
import { parseArgs } from 'node:util';
import { nearest } from '../options';
import { type Flags, HELP_FLAG } from './command';

/** A mistake on the command line: exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** What was given. */
export interface Given {
  /** Value of a flag, or null. */
  text(flag: string): string | null;
  /** Whether a flag without a value was given. */
  has(flag: string): boolean;
  /**
   * Value of a number flag, or null.
   *
   * @throws {UsageError} outside the range.
   */
  number(flag: string, range: { min: number; max: number; whole?: boolean }): number | null;
  /** What is no flag, in order. */
  readonly operands: readonly string[];
}

/**
 * @param args what follows the name of the command.
 * @param takesOperands whether anything but flags may stand there.
 * @throws {UsageError} for an unknown flag, one that stands twice, a missing value, or a value where none belongs.
 */
export function readArguments(args: readonly string[], own: Flags, takesOperands: boolean): Given {
  const flags: Flags = { ...own, help: HELP_FLAG };
  const options = Object.fromEntries(
    Object.entries(flags).map(([name, { value }]) => [
      name,
      { type: value === undefined ? ('boolean' as const) : ('string' as const) },
    ]),
  );
  const short = { ...options, help: { type: 'boolean' as const, short: 'h' } };
  const { tokens } = parseArgs({
    args: [...args],
    options: short,
    allowPositionals: true,
    strict: false,
    tokens: true,
  });
  const values = new Map<string, string | true>();
  const operands: string[] = [];
  for (const token of tokens) {
    if (token.kind === 'positional') operands.push(token.value);
    if (token.kind !== 'option') continue;
    const flag = Object.hasOwn(flags, token.name) ? flags[token.name] : undefined;
    if (flag === undefined) throw new UsageError(unknownFlag(token.rawName, Object.keys(flags)));
    if (values.has(token.name)) throw new UsageError(`takes --${token.name} once, not several times`);
    values.set(token.name, flagValue(token.name, flag.value, token.value, token.inlineValue === true));
  }
  if (!takesOperands && operands.length > 0) {
    throw new UsageError(`takes flags only, not ${JSON.stringify(operands[0])}`);
  }
  return new Arguments(values, operands);
}

function unknownFlag(written: string, known: readonly string[]): string {
  const near = nearest(written.replace(/^-+/, ''), known);
  return `unknown flag ${written}${near === undefined ? '' : ` (did you mean --${near}?)`}`;
}

function flagValue(
  name: string,
  wanted: string | undefined,
  given: string | undefined,
  inline: boolean,
): string | true {
  if (wanted === undefined) {
    if (given !== undefined) throw new UsageError(`--${name} takes no value`);
    return true;
  }
  // `--fleet --port 1`: the value was forgotten. `--fleet=--x` means what it says.
  if (given === undefined || given === '' || (!inline && given.startsWith('--'))) {
    throw new UsageError(`--${name} needs a value: --${name} ${wanted}`);
  }
  return given;
}

/** Digits, with a point perhaps: `0x10` and `1e3` are more often a slip than a wish. */
const PLAIN_NUMBER = /^-?\d+(?:\.\d+)?$/;

class Arguments implements Given {
  readonly #values: ReadonlyMap<string, string | true>;
  readonly operands: readonly string[];

  constructor(values: ReadonlyMap<string, string | true>, operands: readonly string[]) {
    this.#values = values;
    this.operands = operands;
  }

  text(flag: string): string | null {
    const value = this.#values.get(flag);
    return typeof value === 'string' ? value : null;
  }

  has(flag: string): boolean {
    return this.#values.has(flag);
  }

  number(flag: string, { min, max, whole }: { min: number; max: number; whole?: boolean }): number | null {
    const text = this.text(flag);
    if (text === null) return null;
    const value = Number(text);
    const right = PLAIN_NUMBER.test(text) && value >= min && value <= max;
    if (right && (whole !== true || Number.isInteger(value))) return value;
    const kind = whole === true ? 'a whole number' : 'a number';
    throw new UsageError(`--${flag} must be ${kind} from ${min} to ${max}, in digits`);
  }
}
