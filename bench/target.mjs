// One process under measurement.
import { once } from 'node:events';
import net from 'node:net';

const NO_ACCOUNTS = { cpuMs: 0, rssMb: 0, longestBlockMs: 0 };
/** A process that has not ended so long after it was asked to is ended. */
const END_MS = 3000;
const START_MS = 30_000;

export class Target {
  #child;

  /**
   * @param {string} name by which rounds name its results
   * @param {number} port
   * @param {import('node:child_process').ChildProcess | null} child null for what the bench does not end
   * @param {{ flags?: string[], warm?: number, tells?: boolean }} [options] `flags` of the load client that this
   *   target needs, `warm` where it needs less warming than others, `tells` whether it tells its accounts
   */
  constructor(name, port, child, { flags = [], warm = Number.POSITIVE_INFINITY, tells = true } = {}) {
    this.name = name;
    this.port = port;
    this.flags = flags;
    this.warm = warm;
    this.tells = tells && child !== null;
    this.#child = child;
  }

  /** `accounts`: CPU, memory and the longest block of the event loop since `reset`. */
  async ask(question) {
    if (!this.tells) return NO_ACCOUNTS;
    const answer = messageOf(this.name, this.#child);
    this.#child.send(question);
    return await answer;
  }

  async stop() {
    if (this.#child !== null) await endChild(this.#child);
  }
}

/** The next message of a process of the bench. @throws when it ends before */
export function messageOf(name, child) {
  return new Promise((resolve, reject) => {
    const settle = (message) => {
      child.off('message', settle).off('disconnect', fail);
      resolve(message);
    };
    const fail = () => {
      child.off('message', settle);
      reject(new Error(`${name} ended before it answered`));
    };
    child.once('message', settle).once('disconnect', fail);
  });
}

/** Asks a process to end, so that it can tidy up, and ends it if it does not. */
export async function endChild(child) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), END_MS);
  await exit;
  clearTimeout(timer);
}

/** Waits until a program that the bench did not write takes connections. */
export async function listens(name, child, port) {
  const limit = performance.now() + START_MS;
  while (performance.now() < limit) {
    if (child.exitCode !== null) break;
    const socket = net.connect(port, '127.0.0.1');
    try {
      await once(socket, 'connect');
      return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 100));
    } finally {
      socket.destroy();
    }
  }
  throw new Error(`${name} did not listen`);
}
