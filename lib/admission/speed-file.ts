/** What was learned of the engines' speed, kept over a restart. */
import { readFileSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import type { Fleet } from '../engines/fleet';
import type { Point } from '../engines/line-fit';
import { type SpeedMemory, WINDOW } from '../engines/speed';
import type { Logger } from '../logger';

const SCHEMA = 'narwhal.speeds';
const VERSION = 1;
/** How often it is written, where something was learned. */
const EVERY_MS = 30_000;

/** A file beside the gateway. A file that cannot be read or written costs a warning, and nothing else. */
export class SpeedFile {
  readonly #path: string;
  readonly #fleet: Fleet;
  readonly #logger: Logger | null;
  #timer: NodeJS.Timeout | null = null;
  #writing: Promise<void> | null = null;
  #isClosed = false;

  constructor(path: string, fleet: Fleet, logger: Logger | null) {
    this.#path = path;
    this.#fleet = fleet;
    this.#logger = logger;
    this.#read();
  }

  /** Writes from now on, time and again; keeps no process alive. */
  start(): void {
    if (this.#timer !== null || this.#isClosed) return;
    this.#timer = setInterval(() => void this.save(), EVERY_MS);
    this.#timer.unref();
  }

  /** Writes what was learned since the last time: to a new file first, which then takes the old one's place. */
  save(): Promise<void> {
    this.#writing ??= this.#write().finally(() => {
      this.#writing = null;
    });
    return this.#writing;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#timer !== null) clearInterval(this.#timer);
    await this.#writing;
    await this.save();
  }

  async #write(): Promise<void> {
    const { engines } = this.#fleet;
    if (!engines.some(({ speed }) => speed.isDirty)) return;
    const speeds = Object.fromEntries(engines.map(({ iid, speed }) => [iid, speed.remember()]));
    const text = JSON.stringify({ schema: SCHEMA, schema_version: VERSION, engines: speeds });
    const fresh = `${this.#path}.${process.pid}.new`;
    try {
      await writeFile(fresh, text);
      await rename(fresh, this.#path);
    } catch (error) {
      this.#warn('the state file of admission cannot be written', error);
    }
  }

  #read(): void {
    let speeds: unknown;
    try {
      speeds = speedsOf(JSON.parse(readFileSync(this.#path, 'utf8')));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') {
        this.#warn('the state file of admission cannot be read; admission learns anew', error);
      }
      return;
    }
    for (const engine of this.#fleet.engines) {
      const memory = memoryOf(own(speeds, engine.iid));
      if (memory !== null) engine.speed.recall(memory, performance.now());
    }
  }

  #warn(message: string, error: unknown): void {
    const detail = error instanceof Error ? error.message : 'unknown';
    this.#logger?.warn(message, { path: this.#path, detail });
  }
}

/** @throws {TypeError} for a file of another kind. */
function speedsOf(file: unknown): unknown {
  if (own(file, 'schema') !== SCHEMA || own(file, 'schema_version') !== VERSION) {
    throw new TypeError(`not a file of schema ${SCHEMA} version ${VERSION}`);
  }
  return own(file, 'engines');
}

/** Only what is well formed: somebody may have edited the file. */
function memoryOf(raw: unknown): SpeedMemory | null {
  if (typeof raw !== 'object' || raw === null) return null;
  return {
    prefill: listOf(own(raw, 'prefill'), isPoint),
    first_token: listOf(own(raw, 'first_token'), isAmount),
    interval: listOf(own(raw, 'interval'), isPoint),
  };
}

function listOf<T>(raw: unknown, isOne: (value: unknown) => value is T): T[] {
  return Array.isArray(raw) ? raw.filter(isOne).slice(-WINDOW) : [];
}

function isPoint(value: unknown): value is Point {
  return Array.isArray(value) && value.length === 2 && value.every(isAmount);
}

function isAmount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}

function own(object: unknown, key: string): unknown {
  if (typeof object !== 'object' || object === null || !Object.hasOwn(object, key)) return undefined;
  return (object as Record<string, unknown>)[key];
}
