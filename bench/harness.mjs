// Starts the processes of the bench, pinned where that can be done, and runs loads against them in pairs.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { orderOf } from './figures.mjs';
import { freePort, GATEWAY_CORE, LOAD_CORE, pinned } from './machine.mjs';
import { endChild, listens, messageOf, Target } from './target.mjs';

const HERE = join(dirname(fileURLToPath(import.meta.url)), 'processes');
/** Small requests that a target answers before anything is measured. */
export const WARM = 20_000;

export class Harness {
  #children = [];
  #nodeFlags;
  #prefillPort = 0;
  decodePort = 0;

  /** Starts the engines. @param {{ nodeFlags?: string[] }} [options] flags for the gateway's node */
  static async start({ nodeFlags = [] } = {}) {
    const harness = new Harness();
    harness.#nodeFlags = nodeFlags;
    const { ports } = await messageOf('the engines', harness.#node(LOAD_CORE, 'engine.mjs', [0, 0]));
    [harness.#prefillPort, harness.decodePort] = ports;
    return harness;
  }

  /** Ports of the engines, as command line. */
  get ports() {
    return [this.#prefillPort, this.decodePort];
  }

  /** Starts a gateway of `bench/processes/`. @param {string[]} flags */
  async target(name, file, flags = []) {
    const isPipe = file === 'pipe.mjs';
    // Port 0: a free port found beforehand may be somebody's when it is wanted.
    const ports = isPipe ? [0, this.decodePort] : [0, ...this.ports];
    const child = this.#node(GATEWAY_CORE, file, [...ports, ...flags], file === 'gateway.mjs');
    const [port] = (await messageOf(name, child)).ports;
    return new Target(name, port, child, isPipe ? { flags: ['--decode'] } : {});
  }

  /** Starts a program that knows nothing of the bench. @param {(port: number) => [string, string[]]} commandFor */
  async peer(name, commandFor, options) {
    const port = await freePort();
    const child = spawn(...pinned(GATEWAY_CORE, ...commandFor(port)), { stdio: 'ignore' });
    this.#children.push(child);
    await Promise.race([
      listens(name, child, port),
      once(child, 'error').then(([error]) => Promise.reject(error)),
    ]);
    return new Target(name, port, child, { ...options, tells: false });
  }

  /** A stand-in for no gateway at all: the decode engine itself. */
  get direct() {
    return new Target('direct', this.decodePort, null, { flags: ['--decode'], warm: 0 });
  }

  /** How the engines stream: `n` events, `interval` ms apart (-1: all in one write), the first after `first` ms. */
  async engines({ n, interval, first = -1 }) {
    await this.#control(`/set?n=${n}&interval=${interval}&first=${first}`);
  }

  /** @throws when an engine was asked for what no engine may be asked for */
  async verify() {
    const { wrong } = await this.#control('/');
    if (wrong > 0) throw new Error(`${wrong} legs reached an engine in a shape that is wrong`);
  }

  /**
   * Runs one load, bounded by `seconds` or by `requests`.
   * @returns what the client saw, and the target's CPU for each request, in ms
   */
  async load(target, flags, { seconds, requests }) {
    const before = await target.ask('accounts');
    const bound = requests === undefined ? ['--seconds', seconds] : ['--requests', requests];
    const args = [join(HERE, 'load.mjs'), '--port', target.port, ...bound, ...target.flags, ...flags];
    const seen = await printed(...pinned(LOAD_CORE, process.execPath, args));
    const after = await target.ask('accounts');
    if (seen.bad > 0 || seen.errors > 0) {
      throw new Error(`${target.name}: ${seen.bad} bad answers, ${seen.errors} errors under load`);
    }
    return { ...seen, cpuPerRequest: (after.cpuMs - before.cpuMs) / seen.done };
  }

  /**
   * Loads a target until it has answered so many requests. By requests and not by time: V8 compiles a function
   * after so many calls, and the more code a gateway has, the later all of it is compiled. A gateway that runs
   * is warm, and that is the one to measure; after one second, (a) would be and the library would not.
   */
  async warm(target, flags, requests) {
    const count = Math.min(requests, target.warm);
    if (count > 0) await this.load(target, flags, { requests: count });
  }

  /**
   * Loads targets in turn, round after round, so that the machine's moods meet all of them.
   * @returns for each round, the result of each target by name
   */
  async rounds(targets, flags, { rounds, seconds, warm = WARM, tick }) {
    for (const target of targets) {
      tick?.(`${target.name}, warming up`);
      await this.warm(target, flags, warm);
    }
    const results = [];
    for (let round = 0; round < rounds; round++) {
      const result = {};
      for (const target of orderOf(targets, round)) {
        tick?.(`${target.name}, round ${round + 1} of ${rounds}`);
        result[target.name] = await this.load(target, flags, { seconds });
      }
      results.push(result);
    }
    return results;
  }

  /**
   * Opens many streams and holds them for `seconds`.
   * @returns the accounts of the target when all were open and at the end, and what the streams got
   */
  async hold(target, { streams, ramp, seconds }) {
    const bound = ['--streams', streams, '--ramp', ramp, '--seconds', seconds];
    const child = this.#node(LOAD_CORE, 'hold.mjs', ['--port', target.port, ...bound]);
    const first = await messageOf('the client', child);
    const from = await target.ask('accounts');
    const fromAt = performance.now();
    const got = 'open' in first ? await messageOf('the client', child) : first;
    const until = await target.ask('accounts');
    return { ...got, from, until, elapsedMs: performance.now() - fromAt };
  }

  async close() {
    await Promise.all(this.#children.map(endChild));
  }

  async #control(path) {
    return (await fetch(`http://127.0.0.1:${this.decodePort}${path}`)).json();
  }

  #node(core, file, args, isGateway = false) {
    const nodeFlags = isGateway ? this.#nodeFlags : [];
    const command = pinned(core, process.execPath, [...nodeFlags, join(HERE, file), ...args]);
    const child = spawn(...command, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
    this.#children.push(child);
    return child;
  }
}

/** What a load client prints. */
async function printed(command, args) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.on('data', (text) => {
    output += text;
  });
  await once(child, 'close');
  try {
    return JSON.parse(output);
  } catch {
    throw new Error(`the load client said nothing that can be read: ${output}`);
  }
}
