/** A redis-server of the test's own, on a socket in a folder of its own. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** Whether this machine has the program at all. */
export const HAS_REDIS = spawnSync('redis-server', ['--version']).status === 0;

export interface RedisServer {
  /** Path of its socket. */
  readonly socket: string;
  stop(): Promise<void>;
}

/** Starts it, without a port, without files. */
export async function startRedis(): Promise<RedisServer> {
  const folder = mkdtempSync(join(tmpdir(), 'narwhal-redis-'));
  const socket = join(folder, 's');
  const flags = ['--port', '0', '--unixsocket', socket, '--save', '', '--appendonly', 'no', '--dir', folder];
  const child = spawn('redis-server', flags, { stdio: 'ignore' });
  while (!existsSync(socket) && child.exitCode === null) await sleep(10);
  return {
    socket,
    async stop() {
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
      rmSync(folder, { recursive: true });
    },
  };
}
