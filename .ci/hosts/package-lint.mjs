/** What two linters of packages say: publint of the files, attw of how the types resolve. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { ROOT } from './pack.mjs';

/**
 * @param {import('./pack.mjs').Packed} packed
 * @param {import('./report.mjs').Report} report
 */
export async function lintPackage({ tarball, unpacked }, report) {
  report.add(
    'publint --strict',
    'finds nothing',
    await bin('publint/src/cli.js', ['--strict', '--pack', 'false', unpacked]),
  );
  // The profile leaves out only `moduleResolution: node10`, which knows no `exports` and so no `/testing`.
  // Given the tarball, and not `--pack`, it does not delete a tarball of the same name in the project.
  const attw = ['--profile', 'node16', '--format', 'ascii', '--no-emoji', tarball];
  report.add(
    'attw --profile node16',
    'finds nothing',
    await bin('@arethetypeswrong/cli/dist/index.js', attw),
  );
}

/** @param {string} path below node_modules @param {string[]} args @returns {Promise<string | null>} */
function bin(path, args) {
  return new Promise((done) => {
    execFile(process.execPath, [join(ROOT, 'node_modules', path), ...args], (error, stdout, stderr) => {
      done(error === null ? null : `expected status 0\n${stdout}${stderr}`);
    });
  });
}
