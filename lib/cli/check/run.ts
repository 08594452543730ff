/** Runs `narwhal check`. */
import { defaultFleetPath } from '../../config/fleet-file';
import type { Given } from '../arguments';
import { printable } from '../table';
import { DEFAULT_TIMEOUT_S } from './command';
import { checkFleet } from './fleet-check';
import { reportLines, verdictLines } from './report';

/** @returns 0 for a good fleet, else 1. */
export async function runCheck(given: Given): Promise<number> {
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
}
