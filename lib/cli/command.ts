/** What a command of `narwhal` is made of, and its help text. */
import type { Given } from './arguments';

/** One flag of a command. */
export interface Flag {
  /** What stands for the value in the help; a flag without one is on or off. */
  readonly value?: string;
  /** One line for the help. */
  readonly help: string;
}

/** The flags of a command by name, without the dashes. */
export type Flags = Readonly<Record<string, Flag>>;

/** One command. */
export interface Command {
  readonly name: string;
  /** One line for the list of commands. */
  readonly summary: string;
  /** What it takes besides flags, as the help shows it; null for nothing. */
  readonly operands: string | null;
  readonly flags: Flags;
  /** What the help says under the flags. */
  readonly notes: readonly string[];
  /** Command lines that work, each with what it is for. */
  readonly examples: readonly (readonly [line: string, purpose: string])[];
  /** @returns the exit code, or null for a command that goes on until a signal. */
  run(given: Given): Promise<number | null>;
}

/** Every command has it. */
export const HELP_FLAG: Flag = { help: 'this text' };

/** The help of one command. */
export function commandHelp(command: Command): string {
  const { name, summary, operands, notes, examples } = command;
  const flags = Object.entries({ ...command.flags, help: HELP_FLAG });
  const usage = ['narwhal', name, operands, '[flags]'].filter((word) => word !== null).join(' ');
  return [
    `Usage: ${usage}`,
    '',
    summary,
    '',
    'Flags:',
    ...columns(flags.map(([flag, { value, help }]) => [`--${flag}${value ? ` ${value}` : ''}`, help])),
    ...(notes.length === 0 ? [] : ['', ...notes]),
    '',
    'Examples:',
    ...examples.flatMap(([line, purpose]) => [`  # ${purpose}`, `  ${line}`]),
  ].join('\n');
}

/** The help of the whole program. */
export function programHelp(commands: readonly Command[]): string {
  return [
    'Usage: narwhal <command> [flags]',
    '',
    'A gateway in front of LLM engines whose prefill and decode work runs on different machines.',
    '',
    'Commands:',
    ...columns(commands.map(({ name, summary }) => [name, summary])),
    '',
    'narwhal <command> --help says more of each. narwhal --version prints the version.',
    '',
    'Examples:',
    '  # see it run, without engines',
    '  narwhal demo',
    '  # are the engines of this fleet what the file says?',
    '  narwhal check --fleet fleet.json',
    '  # serve it',
    '  NARWHAL_API_KEYS=key-of-acme narwhal serve --fleet fleet.json --port 8080',
    '  # what happened in the last hour?',
    '  narwhal journal --since 1h narwhal-journal.jsonl',
  ].join('\n');
}

function columns(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`);
}
