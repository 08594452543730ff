/** The built `narwhal`, run as an operator runs it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { closeLater } from '../helpers/close-all';

const MAIN = resolve(__dirname, '../../dist/cli/main.js');

/** How it is started. */
export interface RunOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Text for standard input; none by default. */
  readonly input?: string;
}

/** What a command that came to its end has said. */
export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A command that goes on. Killed after the test, if need be. */
export interface Running {
  readonly child: ChildProcess;
  readonly stdout: () => string;
  readonly stderr: () => string;
  /** Waits until standard output (or error) matches; fails when the process ends before. */
  until(stream: 'stdout' | 'stderr', pattern: RegExp): Promise<RegExpExecArray>;
  /** Sends a signal and waits for the end. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
  readonly ended: Promise<Ended>;
}

/** Starts a command. */
export function startNarwhal(args: readonly string[], options: RunOptions = {}): Running {
  const { NARWHAL_FLEET: _f, NARWHAL_API_KEYS: _k, PORT: _p, ...env } = process.env;
  const child = spawn(process.execPath, [MAIN, ...args], {
    cwd: options.cwd ?? tmpdir(),
    env: { ...env, ...options.env },
  });
  const texts = { stdout: '', stderr: '' };
  const looks = new Set<() => void>();
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8');
    child[name].on('data', (piece: string) => {
      texts[name] += piece;
      for (const look of looks) look();
    });
  }
  child.stdin.on('error', () => undefined);
  child.stdin.end(options.input ?? '');
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, ...texts }));
  closeLater({
    async close() {
      if (child.exitCode === null) child.kill('SIGKILL');
      await ended;
    },
  });
  return {
    child,
    ended,
    stdout: () => texts.stdout,
    stderr: () => texts.stderr,
    until: (name, pattern) =>
      new Promise((found, fail) => {
        const look = (): void => {
          const match = pattern.exec(texts[name]);
          if (match === null) return;
          looks.delete(look);
          found(match);
        };
        looks.add(look);
        look();
        void ended.then(({ code }) => fail(new Error(`ended with ${code}: ${texts.stdout}${texts.stderr}`)));
      }),
    async stop(signal = 'SIGTERM') {
      child.kill(signal);
      return (await ended).code;
    },
  };
}

/** Runs a command to its end. */
export function runNarwhal(args: readonly string[], options?: RunOptions): Promise<Ended> {
  return startNarwhal(args, options).ended;
}

/** A folder for a test, removed after it. */
export function tempFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'narwhal-cli-'));
  closeLater({ close: () => rmSync(folder, { recursive: true }) });
  return folder;
}
