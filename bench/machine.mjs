// What the bench asks of the machine: a core for the gateway, the right of way, enough open files.
import { spawnSync } from 'node:child_process';
import net from 'node:net';
import { availableParallelism, getPriority, setPriority } from 'node:os';

const CAN_PIN = availableParallelism() > 1 && spawnSync('taskset', ['--version']).status === 0;
const PRIORITY = -10;

/** The measured process has one core for itself; engines and load share the other. */
export const GATEWAY_CORE = '0';
export const LOAD_CORE = '1';

/** A command line that keeps a program on a core, where that can be done. */
export function pinned(core, command, args) {
  return CAN_PIN ? ['taskset', ['-c', core, command, ...args.map(String)]] : [command, args.map(String)];
}

/**
 * Takes the right of way before other programs, for this process and all that it starts. Whoever started it
 * with `nice` has said what they want, and keeps it.
 * @returns what to tell the reader of the figures
 */
export function prepareMachine() {
  try {
    if (getPriority() === 0) setPriority(PRIORITY);
  } catch {
    // Not permitted: then other programs disturb a little more.
  }
  if (CAN_PIN) return [];
  return ['no taskset, or one core only: gateway and load are not kept apart, so that figures are rough'];
}

/** How many files one process may open; asks for `wanted` where that is more, which takes privileges. */
export function openFiles(wanted) {
  const limit = () => {
    const { soft } = process.report.getReport().userLimits.open_files;
    return soft === 'unlimited' ? Number.POSITIVE_INFINITY : Number(soft);
  };
  if (limit() < wanted) spawnSync('prlimit', ['--pid', String(process.pid), `--nofile=${wanted}:${wanted}`]);
  return limit();
}

/** A port that nobody listens on, for a program that cannot choose one itself. */
export function freePort() {
  return new Promise((resolve, reject) => {
    const server = net.createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}
