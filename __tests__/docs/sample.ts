/** A host's folder in which samples of the docs run, each as a process of its own. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { ROOT } from './markdown';

const PACKAGES = [
  'express',
  'supertest',
  'openai',
  'winston',
  'ai',
  '@ai-sdk/openai-compatible',
  '@langchain/openai',
];

/** Makes the folder: this package and what samples import, by their names. */
export function hostFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'narwhal-docs-'));
  const modules = join(folder, 'node_modules');
  mkdirSync(modules);
  symlinkSync(ROOT, join(modules, 'express-narwhal'), 'junction');
  for (const name of PACKAGES) {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules', name), join(modules, name), 'junction');
  }
  return folder;
}

/** A sample that runs. */
export interface Run {
  readonly child: ChildProcess;
  readonly output: () => string;
  /** Resolves when the output matches, or the process is over. */
  readonly until: (pattern: RegExp) => Promise<string>;
  readonly code: Promise<number | null>;
}

/** Starts a sample. */
export function run(folder: string, text: string, env: NodeJS.ProcessEnv = {}): Run {
  const file = join(folder, 'sample.mjs');
  writeFileSync(file, text);
  const child = spawn(process.execPath, [file], { cwd: folder, env: { ...process.env, ...env } });
  let output = '';
  let check = (): void => {};
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      output += String(chunk);
      check();
    });
  }
  const code = once(child, 'close').then(([status]) => status as number | null);
  const until = (pattern: RegExp): Promise<string> => {
    const seen = new Promise<void>((resolve) => {
      check = () => {
        if (pattern.test(output)) resolve();
      };
      check();
    });
    return Promise.race([seen, code]).then(() => output);
  };
  return { child, output: () => output, until, code };
}
