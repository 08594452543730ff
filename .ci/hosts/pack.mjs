/** The tarball, as `npm publish` would send it, and the files in it. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

export const ROOT = resolve(import.meta.dirname, '../..');

/**
 * @typedef {object} Packed
 * @property {string} name file name of the tarball.
 * @property {string} tarball its path.
 * @property {string} unpacked folder with its files.
 * @property {number} fileCount
 * @property {string} folder where hosts are to be made.
 * @property {{ dependencies: Record<string, string> }} manifest its package.json.
 */

/**
 * Packs what has been built. Without scripts: `npm run check:hosts` has built it just now.
 *
 * @param {string} folder
 * @returns {Packed}
 */
export function pack(folder) {
  const args = ['pack', '--ignore-scripts', '--json', '--pack-destination', folder];
  const [packed] = JSON.parse(
    execFileSync('npm', args, { cwd: ROOT, encoding: 'utf8', shell: process.platform === 'win32' }),
  );
  const tarball = join(folder, packed.filename);
  execFileSync('tar', ['-xzf', tarball, '-C', folder]);
  const unpacked = join(folder, 'package');
  mkdirSync(join(folder, 'hosts'));
  return {
    name: packed.filename,
    tarball,
    unpacked,
    fileCount: packed.files.length,
    folder: join(folder, 'hosts'),
    manifest: JSON.parse(readFileSync(join(unpacked, 'package.json'), 'utf8')),
  };
}
