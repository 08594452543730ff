/** `narwhal check`: are the engines what the fleet file says? */
import { defaultFleetPath } from '../../config/fleet-file';
import type { Command } from '../command';
import { printable } from '../table';
import { checkFleet } from './fleet-check';
import { reportLines, verdictLines } from './report';

const DEFAULT_TIMEOUT_S = 30;

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
  async run(given) {
    const report = await checkFleet({
      fleetPath: given.text('fleet') ?? defaultFleetPath(process.env),
      timeoutS: given.number('timeout', { min: 0.1, max: 3600 }) ?? DEFAULT_TIMEOUT_S,
      onProgress: (line) => {
        if (!given.has('quiet')) console.error(printable(line));
      },
    });
    if (given.has('json')) console.log(JSON.stringify(report, null, 2));
    else if (report.engines.length > 0) console.log(reportLines(report).join('\n'));
    console.error(verdictLines(report).join('\n'));
    return report.ok ? 0 : 1;
  },
};
