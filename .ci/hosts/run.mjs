/**
 * Packs the package and runs the tarball in hosts as users have them: `npm run check:hosts`.
 *
 * Four hosts serve requests (ES modules and CommonJS, each on the oldest Express 4 that is allowed and on
 * Express 5), six compile against the types, and two linters look at the package itself. One line for each
 * check; exit status 1 when one of them failed.
 *
 * Nothing is installed a second time: the folders of the hosts borrow from the project's own node_modules. See
 * host-folder.mjs for why that is honest.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inTurns } from './in-turns.mjs';
import { pack } from './pack.mjs';
import { lintPackage } from './package-lint.mjs';
import { Report } from './report.mjs';
import { RUNTIME_HOSTS, runHost } from './runtime-hosts.mjs';
import { everyExportIsUsed, TYPE_HOSTS, typeHost } from './type-hosts.mjs';

const folder = mkdtempSync(join(tmpdir(), 'narwhal-hosts-'));
const report = new Report();
try {
  const packed = pack(folder);
  console.log(`packed ${packed.name}, ${packed.fileCount} files\n`);
  await inTurns([
    ...RUNTIME_HOSTS.map((host) => () => runHost(host, packed, report)),
    ...TYPE_HOSTS.map((host) => () => typeHost(host, packed, report)),
    () => everyExportIsUsed(packed, report),
    () => lintPackage(packed, report),
  ]);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
console.log(`\n${report.summary()}`);
process.exitCode = report.failures === 0 ? 0 : 1;
