/** Hosts that compile: strict, with the types of their dependencies checked as well. */
import { execFile } from 'node:child_process';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { hostFolder } from './host-folder.mjs';
import { ROOT } from './pack.mjs';

const MODULES = {
  nodenext: { module: 'nodenext', moduleResolution: 'nodenext' },
  node16: { module: 'node16', moduleResolution: 'node16' },
  bundler: { module: 'preserve', moduleResolution: 'bundler' },
};

/**
 * Version, and where its types are here. Their second part is asked for by name alone, which the compiler looks up
 * in the host: without a link of its own it would find that of the other version.
 */
const EXPRESS = [
  {
    version: '4',
    types: 'types-express4',
    core: 'types-express4/node_modules/@types/express-serve-static-core',
  },
  { version: '5', types: '@types/express', core: '@types/express-serve-static-core' },
];

export const TYPE_HOSTS = EXPRESS.flatMap((express) =>
  Object.entries(MODULES).map(([module, options]) => ({ ...express, module, options })),
);

/** What they compile, */
const USES = join(import.meta.dirname, 'fixtures/types/uses.ts');

/** as an ES module and as CommonJS. */
const SOURCES = ['uses.ts', 'uses.cts'];

/**
 * @param {(typeof TYPE_HOSTS)[number]} host
 * @param {import('./pack.mjs').Packed} packed
 * @param {import('./report.mjs').Report} report
 */
export async function typeHost({ version, types, core, module, options }, packed, report) {
  const packages = {
    '@types/express': types,
    '@types/express-serve-static-core': core,
    '@types/node': '@types/node',
  };
  const folder = hostFolder(packed, `types-${version}-${module}`, { type: 'module' }, packages);
  for (const name of SOURCES) cpSync(USES, join(folder, name));
  const compilerOptions = {
    ...options,
    target: 'es2022',
    lib: ['es2022'],
    types: ['node'],
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    esModuleInterop: true,
    skipLibCheck: false,
    noEmit: true,
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: SOURCES }));
  const name = `types, Express ${version}, ${module}`;
  const problem = await compile(folder);
  report.add(name, 'compiles, strict, skipLibCheck false', problem);
}

/**
 * Hosts that leave an export out would not show that its type is broken.
 *
 * @param {import('./pack.mjs').Packed} packed
 * @param {import('./report.mjs').Report} report
 */
export async function everyExportIsUsed({ unpacked }, report) {
  const unused = unusedExports(unpacked, readFileSync(USES, 'utf8'));
  report.add(
    'types',
    'uses every export',
    unused.length === 0 ? null : `not in uses.ts: ${unused.join(', ')}`,
  );
}

/** @param {string} folder @returns {Promise<string | null>} what the compiler says, or null. */
function compile(folder) {
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  return new Promise((done) => {
    execFile(process.execPath, [tsc, '-p', folder], { maxBuffer: 1 << 24 }, (error, stdout, stderr) => {
      done(error === null ? null : `expected no error\n${stdout}${stderr}`);
    });
  });
}

/** Names in the export lists of both entries that the text never says. @param {string} unpacked @param {string} text */
function unusedExports(unpacked, text) {
  const names = ['dist/index.d.ts', 'dist/testing/index.d.ts'].flatMap((path) => {
    const lists = readFileSync(join(unpacked, path), 'utf8').matchAll(/export (?:type )?\{([^}]*)\}/g);
    return [...lists].flatMap(([, list = '']) =>
      list.split(',').map((name) => name.replace(/\btype\b/, '').trim()),
    );
  });
  return names.filter((name) => name !== '' && !new RegExp(`\\b${name}\\b`).test(text.replace(IMPORTS, '')));
}

/** An import alone is no use. */
const IMPORTS = /^import [\s\S]*?;$/gm;
