#!/usr/bin/env node
/** The `narwhal` command. */
import { startDemo } from './demo';

const HELP = `Usage: narwhal <command>

  demo    a gateway with a stub fleet inside, ready for curl (PORT, default 8080)

  --help, --version`;

/** Ends the demo in order; a second signal ends the process at once. */
function closeOnSignal(close: () => Promise<void>): void {
  const stop = (): void => {
    process.once('SIGINT', () => process.exit(130));
    close().then(
      () => process.exit(0),
      (error: unknown) => fail(error),
    );
  };
  process.once('SIGINT', stop);
  process.once('SIGTERM', stop);
}

function fail(error: unknown): never {
  console.error(`narwhal: ${error instanceof Error ? error.message : String(error)}`);
  process.exit(1);
}

async function main([command, ...rest]: readonly string[]): Promise<void> {
  if (command === '--version') {
    console.log((require('../../package.json') as { version: string }).version);
  } else if (command === 'demo' && rest.length === 0) {
    const demo = await startDemo(process.env);
    // Before it says that it is there: whoever reads that may stop it at once.
    closeOnSignal(() => demo.close());
    console.log(demo.welcome.join('\n'));
  } else if (command === undefined || command === '--help' || command === 'help') {
    console.log(HELP);
  } else {
    console.error(`narwhal: unknown command: ${[command, ...rest].join(' ')}\n\n${HELP}`);
    process.exitCode = 2;
  }
}

main(process.argv.slice(2)).catch(fail);
