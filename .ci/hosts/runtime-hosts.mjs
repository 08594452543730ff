/** Hosts that serve requests: each is a process of its own, which reports its checks one by one. */
import { fork } from 'node:child_process';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { hostFolder } from './host-folder.mjs';

/** What else such a host has mounted. */
const NEIGHBOURS = ['compression', 'cors', 'express-rate-limit', 'helmet', 'pino-http'];

/** Longest that a host may take; it takes two or three seconds. */
const LIMIT_MS = 60_000;

/** Version, and the package that it is here. @type {[string, string][]} */
const EXPRESS = [
  ['4.18', 'express418'],
  ['5', 'express'],
];

export const RUNTIME_HOSTS = EXPRESS.flatMap(([version, source]) =>
  ['module', 'commonjs'].map((type) => ({
    name: `${type === 'module' ? 'ESM' : 'CommonJS'}, Express ${version}`,
    type,
    version,
    source,
  })),
);

/**
 * @param {(typeof RUNTIME_HOSTS)[number]} host
 * @param {import('./pack.mjs').Packed} packed
 * @param {import('./report.mjs').Report} report
 */
export async function runHost({ name, type, version, source }, packed, report) {
  const packages = { express: source, ...Object.fromEntries(NEIGHBOURS.map((one) => [one, one])) };
  const folder = hostFolder(packed, `${type}-${source}`, { type }, packages);
  cpSync(join(import.meta.dirname, 'fixtures'), folder, { recursive: true });
  const entry = join(folder, type === 'module' ? 'host.mjs' : 'host.cjs');
  const child = fork(entry, [version], { cwd: folder, silent: true, execArgv: [] });
  let output = '';
  let done = false;
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (piece) => (output += piece));
  child.on('message', (/** @type {{ what: string, problem: string | null, done?: true }} */ message) => {
    if (message.done) done = true;
    else report.add(name, message.what, message.problem);
  });
  const timer = setTimeout(() => child.kill('SIGKILL'), LIMIT_MS);
  const [code, signal] = await new Promise((resolve) => child.on('close', (...end) => resolve(end)));
  clearTimeout(timer);
  // Nobody ends the process: it is over when nothing of the library is left in it.
  const good = done && code === 0;
  const expected = 'expected every check to run and the process to end by itself, with status 0; it';
  const ended = signal === null ? `ended with status ${code}` : `did not within ${LIMIT_MS / 1000} s`;
  report.add(
    name,
    'ends by itself when everything is closed',
    good ? null : `${expected} ${ended}\n${output}`,
  );
}
