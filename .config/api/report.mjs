/**
 * Keeps the public surface a deliberate thing: `npm run api:check`, and `npm run api:update` after a change.
 *
 * The types of both entries, as built, are written down in `express-narwhal.api.md` and `testing.api.md` beside
 * this file. The check fails when what was built differs from them, so that no export, option or type changes
 * by accident, and a reviewer sees each change as a diff.
 *
 * A change must be told to users as well. `recorded.json` holds a hash of the reports and a hash of the newest
 * section of CHANGELOG.md, as both were at the last update. An update with another surface is refused while that
 * section has no entry, or is the one that the last change was told in. The check fails when the hash of the
 * reports is not the recorded one, so that nobody edits a report past this rule. It needs no git history, and
 * asks for a line, not for a good one: that is the reviewer's part. Only a first record (empty hashes) is taken
 * as it is.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { CompilerState, Extractor, ExtractorConfig, ExtractorLogLevel } from '@microsoft/api-extractor';

const FOLDER = import.meta.dirname;
const ROOT = resolve(FOLDER, '../..');
const RECORD = join(FOLDER, 'recorded.json');

/** Name of the report, and the entry that it is of. */
const REPORTS = { 'express-narwhal': 'index.d.ts', testing: 'testing/index.d.ts' };

const ENTRIES = Object.values(REPORTS).map((entry) => join(ROOT, 'dist', entry));

/** What the reports must not hold against the code: it has neither release tags nor TSDoc's strict form. */
const SILENT = { logLevel: ExtractorLogLevel.None };

/** @param {string} name @param {string} entry @param {string} temp */
function configOf(name, entry, temp) {
  const compilerOptions = {
    target: 'es2022',
    lib: ['es2022'],
    module: 'node16',
    types: ['node'],
    strict: true,
  };
  return ExtractorConfig.prepare({
    configObject: {
      projectFolder: ROOT,
      mainEntryPointFilePath: join(ROOT, 'dist', entry),
      newlineKind: 'lf',
      compiler: { overrideTsconfig: { compilerOptions, files: [join(ROOT, 'dist', entry)] } },
      apiReport: {
        enabled: true,
        reportFolder: FOLDER,
        reportTempFolder: temp,
        reportFileName: name,
        // A type that the surface names and does not export is part of it all the same.
        includeForgottenExports: true,
      },
      docModel: { enabled: false },
      dtsRollup: { enabled: false },
      tsdocMetadata: { enabled: false },
      messages: {
        extractorMessageReporting: {
          default: SILENT,
          'ae-forgotten-export': { ...SILENT, addToApiReportFile: true },
        },
        tsdocMessageReporting: { default: SILENT },
      },
    },
    configObjectFullPath: undefined,
    packageJsonFullPath: join(ROOT, 'package.json'),
  });
}

/** @param {string} text */
function hashOf(text) {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

/** @returns {{ reports: string, changelog: string }} the hashes at the last update. */
function recorded() {
  return JSON.parse(readFileSync(RECORD, 'utf8'));
}

/** The newest section of the changelog without its heading; spaces and line ends count for nothing. */
function newestSection() {
  const [, section = ''] = readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8').split(/^## .*$/m);
  return section.replace(/\s+/g, ' ').trim();
}

/**
 * What the built types are now.
 *
 * @returns {Record<string, string>} text of each report by the path at which it is kept.
 */
function buildReports() {
  const temp = mkdtempSync(join(tmpdir(), 'narwhal-api-'));
  try {
    let compilerState;
    for (const [name, entry] of Object.entries(REPORTS)) {
      const config = configOf(name, entry, temp);
      // Read and checked once, for all entries.
      compilerState ??= CompilerState.create(config, { additionalEntryPoints: ENTRIES });
      Extractor.invoke(config, { compilerState, messageCallback: silence });
    }
    const files = Object.keys(REPORTS).map((name) => `${name}.api.md`);
    const built = files.map((file) => [join(FOLDER, file), readFileSync(join(temp, file), 'utf8')]);
    return Object.fromEntries(built);
  } finally {
    rmSync(temp, { recursive: true });
  }
}

/** Its own advice is of another workflow. @param {{ logLevel: string, handled: boolean }} message */
function silence(message) {
  if (message.logLevel === 'error') return;
  message.logLevel = 'none';
  message.handled = true;
}

/** @param {string} kept @param {string} built */
function showDifference(kept, built) {
  const args = ['diff', '--no-index', '--no-color', '-U2', '--', kept, '-'];
  const { stdout, error } = spawnSync('git', args, { input: built, encoding: 'utf8' });
  console.error(
    error === undefined ? stdout.replace(/^(diff|index|---|\+\+\+) .*\n/gm, '') : `${kept} differs`,
  );
}

/** @param {string} text */
function fail(text) {
  console.error(text);
  process.exitCode = 1;
}

function check() {
  const reports = buildReports();
  const changed = Object.entries(reports).filter(([path, text]) => readFileSync(path, 'utf8') !== text);
  if (changed.length > 0) {
    for (const [path, text] of changed) showDifference(path, text);
    fail(
      'The public surface is not the one in .config/api: put it into CHANGELOG.md, then npm run api:update',
    );
  } else if (recorded().reports !== hashOf(Object.values(reports).join('\n'))) {
    fail('A report in .config/api was changed past npm run api:update');
  } else console.log('The public surface is the one in .config/api.');
}

function update() {
  const built = buildReports();
  const section = newestSection();
  const now = { reports: hashOf(Object.values(built).join('\n')), changelog: hashOf(section) };
  const before = recorded();
  const isTold = section.includes('- ') && now.changelog !== before.changelog;
  if (now.reports === before.reports) {
    console.log('The public surface is as it was recorded.');
  } else if (before.reports !== '' && !isTold) {
    fail(
      'The public surface has changed: say so in the newest section of CHANGELOG.md first. Nothing was written.',
    );
    return;
  } else {
    writeFileSync(RECORD, `${JSON.stringify(now, null, 2)}\n`);
    console.log('Recorded the new public surface in .config/api: commit it with the change.');
  }
  for (const [path, text] of Object.entries(built)) writeFileSync(path, text);
}

if (process.argv.includes('--update')) update();
else check();
