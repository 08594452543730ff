#!/usr/bin/env node
/** The `narwhal` command. */
import { nearest } from '../options';
import { readArguments, UsageError } from './arguments';
import { checkCommand } from './check/command';
import { type Command, commandHelp, programHelp } from './command';
import { demoCommand } from './demo-command';
import { journalCommand } from './journal/command';
import { serveCommand } from './serve/command';

const COMMANDS: readonly Command[] = [serveCommand, checkCommand, journalCommand, demoCommand];

async function runCommand(command: Command, args: readonly string[]): Promise<void> {
  try {
    const given = readArguments(args, command.flags, command.operands !== null);
    if (given.has('help')) {
      console.log(commandHelp(command));
      return;
    }
    const code = await command.run(given);
    if (code !== null) process.exitCode = code;
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    usage(`${command.name}: ${error.message}`, `narwhal ${command.name} --help`);
  }
}

function usage(message: string, help: string): void {
  console.error(`narwhal ${message}\nSee: ${help}`);
  process.exitCode = 2;
}

async function main([name, ...rest]: readonly string[]): Promise<void> {
  const command = COMMANDS.find((one) => one.name === name);
  const asked = COMMANDS.find((one) => one.name === rest[0]);
  if (command !== undefined) await runCommand(command, rest);
  else if (name === '--version') console.log((require('../../package.json') as { version: string }).version);
  else if (name === 'help' && asked !== undefined) console.log(commandHelp(asked));
  else if (name === '--help' || name === '-h' || name === 'help') console.log(programHelp(COMMANDS));
  else if (name === undefined) usage('needs a command', 'narwhal --help');
  else {
    const near = nearest(
      name,
      COMMANDS.map((one) => one.name),
    );
    const hint = near === undefined ? '' : ` (did you mean ${near}?)`;
    usage(`does not know the command ${JSON.stringify(name)}${hint}`, 'narwhal --help');
  }
}

// A reader that has seen enough (`| head`) is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit(process.exitCode ?? 0);
});

main(process.argv.slice(2)).catch((error: unknown) => {
  console.error(`narwhal: ${error instanceof Error ? error.message : String(error)}`);
  process.exit(1);
});
