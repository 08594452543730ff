/** Command lines of the docs, and what in them does not exist. Just enough of a shell for what stands there. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readArguments } from '../../lib/cli/arguments';
import { checkCommand } from '../../lib/cli/check/command';
import type { Command } from '../../lib/cli/command';
import { demoCommand } from '../../lib/cli/demo-command';
import { journalCommand } from '../../lib/cli/journal/command';
import { serveCommand } from '../../lib/cli/serve/command';
import { ROOT } from './markdown';
import { ROUTES } from './routes';

export const COMMANDS: readonly Command[] = [serveCommand, checkCommand, journalCommand, demoCommand];
/** Programs that are not of this package. Their words are not known here; JSON among them is still read. */
const FOREIGN = [
  'vllm',
  'llama-server',
  'ollama',
  'export',
  'pip',
  'jq',
  'git',
  'kill',
  'pkill',
  'cd',
  'mkdir',
];
/** npm's own commands that the docs may show. */
const NPM = ['ci', 'install', 'start', 'test', 'pack', 'publish', 'init', 'owner'];

const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  scripts: Readonly<Record<string, string>>;
};

/** Names of the scripts of package.json. */
export const SCRIPTS: readonly string[] = Object.keys(scripts);

/** The commands of a block: comments and line ends behind `\` taken out, `&&` and `|` taken apart. */
export function commandsIn(text: string): string[][] {
  const joined = text.replaceAll(/\\\n\s*/g, ' ').replaceAll(/(^|\s)#(?=\s).*$/gm, '$1');
  return joined
    .split('\n')
    .flatMap(commandsOf)
    .filter((words) => words.length > 0);
}

function commandsOf(line: string): string[][] {
  const commands: string[][] = [[]];
  for (const [word, double, single] of line.matchAll(
    /"((?:\\.|[^"])*)"|'([^']*)'|&&|[|;]|(?:\\.|[^\s|;'"])+/g,
  )) {
    if (word === '&&' || word === '|' || word === ';') commands.push([]);
    else commands.at(-1)!.push(double ?? single ?? word);
  }
  // Variables that are set for one command.
  return commands.map((words) => words.slice(words.findIndex((word) => !/^[A-Z_]+=/.test(word))));
}

/** What is wrong with a command; null for one that a reader can paste. */
export function problemOf([program = '', ...words]: readonly string[]): string | null {
  switch (program) {
    case '$':
      return problemOf(words);
    case 'npx':
      return problemOf(words);
    case 'npm':
      return npmProblem(words);
    case 'node':
      return fileProblem(words.find((word) => !word.startsWith('-')) ?? '');
    case 'narwhal':
      return narwhalProblem(words);
    case 'curl':
      return curlProblem(words);
    case 'jest':
      return null;
    default:
      if (program.startsWith('.ci/')) return fileProblem(program);
      return FOREIGN.includes(program) ? jsonProblem(words) : `unknown program ${program}`;
  }
}

function npmProblem([command = '', ...words]: readonly string[]): string | null {
  if (command !== 'run') return NPM.includes(command) ? null : `unknown npm command ${command}`;
  const [name = '', ...rest] = words.filter((word) => !word.startsWith('--silent'));
  const script = scripts[name];
  if (script === undefined) return `package.json has no script ${name}`;
  const flags = rest.filter((word) => /^--\w/.test(word));
  const file = /^(\.ci\/\w+)$|node (?:--\S+ )*(\S+\.mjs)/.exec(script)?.slice(1).find(Boolean);
  const text = file === undefined ? script : readFileSync(join(ROOT, file), 'utf8');
  const unknown = flags.find((flag) => !text.includes(flag.slice(2)));
  return unknown === undefined ? null : `${name} knows no ${unknown}`;
}

function narwhalProblem([name = '', ...words]: readonly string[]): string | null {
  if (['--help', '--version', 'help'].includes(name)) return null;
  const command = COMMANDS.find((one) => one.name === name);
  if (command === undefined) return `narwhal knows no ${name}`;
  try {
    readArguments(words, command.flags, command.operands !== null);
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

function fileProblem(path: string): string | null {
  return existsSync(join(ROOT, path)) ? null : `there is no ${path}`;
}

function curlProblem(words: readonly string[]): string | null {
  const url = words.find((word) => /^(https?:\/\/)?(localhost|127\.0\.0\.1)/.test(word));
  if (url === undefined) return 'curl without an address of this machine';
  const path = `/${url
    .replace(/^https?:\/\//, '')
    .split('/')
    .slice(1)
    .join('/')}`.split('?')[0]!;
  const given = words[words.findIndex((word) => word === '-X' || word === '--request') + 1];
  const bodyAt = words.findIndex((word) => /^(-d|--data|--json)$/.test(word));
  const method = words.some((word) => word === '-X' || word === '--request') ? given : undefined;
  const asked = `${method ?? (bodyAt === -1 ? 'GET' : 'POST')} ${path}`;
  if (!ROUTES.some((route) => route.test(asked))) return `no route ${asked}`;
  return bodyAt === -1 ? null : jsonProblem([words[bodyAt + 1] ?? '']);
}

/** Words that look like JSON must be JSON. */
function jsonProblem(words: readonly string[]): string | null {
  for (const word of words.filter((text) => /^[[{]/.test(text))) {
    try {
      JSON.parse(word);
    } catch {
      return `not JSON: ${word}`;
    }
  }
  return null;
}
