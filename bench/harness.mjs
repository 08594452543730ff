// Starts the processes of the bench, pinned where `taskset` exists, and runs loads against them in pairs.
import { spawn, spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const HERE = dirname(fileURLToPath(import.meta.url));
const PREFILL_PORT = 19_610;
const DECODE_PORT = 19_611;
const HAS_TASKSET = spawnSync('taskset', ['--version']).status === 0;
/** The gateway has one core for itself; engines and load share the other. */
const GATEWAY_CORE = '0';
const LOAD_CORE = '1';

function pinned(core, args) {
  return HAS_TASKSET ? ['taskset', ['-c', core, process.execPath, ...args]] : [process.execPath, args];
}

/** One process under measurement. */
class Target {
  constructor(name, child, port) {
    this.name = name;
    this.port = port;
    this.child = child;
  }

  ask(question) {
    return new Promise((resolve) => {
      this.child.once('message', resolve);
      this.child.send(question);
    });
  }
}

export class Harness {
  #children = [];
  #nextPort = 19_620;

  /** Starts the engines. */
  static async start() {
    const harness = new Harness();
    harness.#spawn(LOAD_CORE, 'engine.mjs', [PREFILL_PORT, DECODE_PORT], []);
    await waitFor(DECODE_PORT);
    return harness;
  }

  /** Starts a gateway of `bench/processes/`. @param {string[]} flags */
  async target(name, file, flags = [], nodeFlags = []) {
    const port = this.#nextPort++;
    const ports = file === 'pipe.mjs' ? [port, DECODE_PORT] : [port, PREFILL_PORT, DECODE_PORT];
    const child = this.#spawn(GATEWAY_CORE, file, [...ports, ...flags], nodeFlags);
    await new Promise((resolve, reject) => {
      child.once('message', resolve);
      child.once('exit', (code) => reject(new Error(`${name} ended with ${code} before it listened`)));
    });
    return new Target(name, child, port);
  }

  /** A stand-in for no gateway at all: the decode engine itself. */
  get direct() {
    return {
      name: 'direct',
      port: DECODE_PORT,
      ask: async () => ({ cpuMs: 0, rssMb: 0, longestBlockMs: 0 }),
    };
  }

  /** How the engines stream: `n` events, `interval` ms apart (-1: all in one write). */
  async engines({ n, interval }) {
    await fetch(`http://127.0.0.1:${DECODE_PORT}/set?n=${n}&interval=${interval}`);
  }

  /** Runs one load. @returns what the client saw, and the target's CPU for each request. */
  async load(target, flags, seconds) {
    const before = await target.ask('accounts');
    const args = [join(HERE, 'processes/load.mjs'), '--port', target.port, '--seconds', seconds, ...flags];
    const seen = await run(...pinned(LOAD_CORE, args.map(String)));
    const after = await target.ask('accounts');
    if (seen.bad > 0 || seen.errors > 0) {
      throw new Error(`${target.name}: ${seen.bad} bad answers, ${seen.errors} errors under load`);
    }
    return { ...seen, cpuPerRequest: (after.cpuMs - before.cpuMs) / seen.done, rssMb: after.rssMb };
  }

  /**
   * Loads targets in turn, round after round, so that the machine's moods meet all of them.
   * @returns for each round, the result of each target by name
   */
  async rounds(targets, flags, { rounds, seconds, tick }) {
    for (const target of targets) await this.load(target, flagsFor(target, flags), Math.min(seconds, 1));
    const results = [];
    for (let round = 0; round < rounds; round++) {
      const result = {};
      for (const target of targets) {
        tick?.(`${target.name}, round ${round + 1} of ${rounds}`);
        result[target.name] = await this.load(target, flagsFor(target, flags), seconds);
      }
      results.push(result);
    }
    return results;
  }

  stop(target) {
    target.child.kill('SIGKILL');
  }

  close() {
    for (const child of this.#children) child.kill('SIGKILL');
  }

  #spawn(core, file, args, nodeFlags) {
    const [command, all] = pinned(core, [...nodeFlags, join(HERE, 'processes', file), ...args.map(String)]);
    const child = spawn(command, all, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
    this.#children.push(child);
    return child;
  }
}

/** The pipe and the bare engine take a decode leg, not a client's request. */
function flagsFor(target, flags) {
  return target.name === 'pipe' || target.name === 'direct' ? [...flags, '--decode'] : flags;
}

function run(command, args) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    let output = '';
    child.stdout.on('data', (text) => {
      output += text;
    });
    child.on('exit', () => {
      try {
        resolve(JSON.parse(output));
      } catch {
        reject(new Error(`the load client said nothing that can be read: ${output}`));
      }
    });
  });
}

async function waitFor(port) {
  for (let i = 0; i < 100; i++) {
    try {
      await fetch(`http://127.0.0.1:${port}/`);
      return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
  throw new Error(`nothing listens on ${port}`);
}

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}

/** Median, over the rounds, of a figure of one target divided by the same figure of another. */
export function ratio(results, figure, target, reference) {
  return median(results.map((round) => round[target][figure] / round[reference][figure]));
}
