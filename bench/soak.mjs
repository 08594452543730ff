// A seeded storm on a stub fleet, and the invariants that must hold after it.
//   npm run soak -- [--requests 10000] [--seconds 0] [--seed 1] [--json]
// Engines refuse, stall, reset, send error frames, lose handoffs, restart and disappear; clients leave at
// random. Progress goes to stderr, the result to stdout; exit status 1 when an invariant is broken.

import { hasFlag, numberFlag } from './soak/flags.mjs';
import { Storm } from './soak/storm.mjs';

const seed = numberFlag('seed', 1);
const seconds = numberFlag('seconds', 0);
const requests = numberFlag('requests', seconds > 0 ? Number.MAX_SAFE_INTEGER : 10_000);

const storm = await Storm.start({ seed });
const result = await storm.run({ requests, seconds, progress: (line) => process.stderr.write(`\r${line}`) });
process.stderr.write('\n');
if (hasFlag('json')) console.log(JSON.stringify(result));
else {
  for (const [name, { ok, detail }] of Object.entries(result.invariants)) {
    console.log(`${ok ? 'holds ' : 'BROKEN'}  ${name}: ${detail}`);
  }
  console.log(JSON.stringify(result.counts));
}
process.exitCode = result.ok ? 0 : 1;
