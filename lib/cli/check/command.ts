/** `narwhal check`: are the engines what the fleet file says? What it is made of is loaded when it runs. */
import type { Command } from '../command';
import type * as Run from './run';

/** Seconds. */
export const DEFAULT_TIMEOUT_S = 30;

export const checkCommand: Command = {
  name: 'check',
  summary: 'Reads a fleet file, then asks every engine and every pair of engines.',
  operands: null,
  flags: {
    fleet: { value: 'PATH', help: 'fleet file (default: $NARWHAL_FLEET, else ./fleet.json)' },
    timeout: { value: 'SECONDS', help: `time for one call (default: ${DEFAULT_TIMEOUT_S})` },
    json: { help: 'print the report as JSON' },
    quiet: { help: 'no progress' },
  },
  notes: [
    'Asks each engine whether it is well, takes the key, serves the model, and which version it is. Then each',
    'prefill engine makes one handoff for each decode engine, which must take it: one token each. The table is',
    'on standard output; progress, problems and what to do about them on standard error.',
    'Exit code: 0 if the fleet is good, 1 if not (warnings alone are good), 2 for a wrong command line.',
  ],
  examples: [
    ['narwhal check --fleet fleet.json', 'before the gateway is started'],
    ['narwhal check --json --quiet | jq .problems', 'for a script'],
  ],
  run: (given) => (require('./run') as typeof Run).runCheck(given),
};
