/** Scripts in a process of their own, on the built package: `npm test` builds it first. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { closeLater } from '../helpers/close-all';

const ROOT = join(__dirname, '../..');

/** A running script. Killed after the test, if it still runs. */
export interface Child {
  readonly process: ChildProcess;
  /** What it has written so far. */
  output(): string;
  /** Waits for its next message. */
  message<T>(): Promise<T>;
  /** Waits for its end. @returns its exit code and signal. */
  exit(): Promise<readonly [number | null, string | null]>;
}

/** Runs the text of a CommonJS script; `require('express-narwhal')` is the built package. */
export function startChild(script: string): Child {
  return watch(
    spawn(process.execPath, ['-e', script], { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe', 'ipc'] }),
  );
}

/** Runs a script of the repository with `--expose-gc`. */
export function runScript(path: string, args: readonly string[]): Child {
  const all = ['--expose-gc', path, ...args];
  return watch(spawn(process.execPath, all, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] }));
}

function watch(child: ChildProcess): Child {
  let text = '';
  const exit = once(child, 'exit') as Promise<[number | null, string | null]>;
  child.stdout?.on('data', (piece: Buffer) => {
    text += piece.toString();
  });
  child.stderr?.resume();
  closeLater({
    async close() {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
      await exit;
    },
  });
  return {
    process: child,
    output: () => text,
    async message<T>() {
      const [message] = (await once(child, 'message')) as [T];
      return message;
    },
    exit: () => exit,
  };
}
