/**
 * A host's folder, with a node_modules of its own.
 *
 * The package is copied into it from the tarball, never linked: node resolves from the real path of a file, and
 * a link would make the package find the Express of this project in place of its host's. Everything else is a
 * link into the project's node_modules: those packages find their own dependencies there, which is where npm
 * has put the right versions for them. Whatever the package asks for is looked up from the copy, so it gets what
 * the host has: the host's Express, and nothing that neither its package.json nor the host names.
 */
import { cpSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ROOT } from './pack.mjs';

/**
 * @param {import('./pack.mjs').Packed} packed
 * @param {string} name of the folder.
 * @param {object} manifest its package.json.
 * @param {Record<string, string>} packages name in the host to name in the project's node_modules.
 * @returns {string} path of the folder.
 */
export function hostFolder(packed, name, manifest, packages) {
  const folder = join(packed.folder, name);
  const modules = join(folder, 'node_modules');
  mkdirSync(modules, { recursive: true });
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name, private: true, ...manifest }));
  cpSync(packed.unpacked, join(modules, 'express-narwhal'), { recursive: true });
  const runtime = Object.fromEntries(Object.keys(packed.manifest.dependencies).map((one) => [one, one]));
  for (const [alias, source] of Object.entries({ ...runtime, ...packages })) {
    const from = join(ROOT, 'node_modules', source);
    const to = join(modules, alias);
    if (!existsSync(from)) throw new Error(`${source} is not installed: run npm ci`);
    mkdirSync(dirname(to), { recursive: true });
    symlinkSync(from, to, 'junction');
  }
  return folder;
}
