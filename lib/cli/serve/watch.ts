/** Tells when the content of files has changed. */
import { createHash } from 'node:crypto';
import { readFileSync, unwatchFile, watchFile } from 'node:fs';

/**
 * How often the files are looked at. Polling, because it follows what a file name leads to: editors and
 * deployments put a new file (or a new link) in the place of the old one.
 */
const LOOK_MS = 500;

/** A file that is being written changes again within this time. */
const SETTLE_MS = 250;

/** Watches files. */
export class FileWatch {
  readonly #paths: readonly string[];
  readonly #onChange: () => void;
  readonly #look = (): void => this.#touched();
  #seen: string;
  #timer: NodeJS.Timeout | undefined;

  /** @param onChange called once for each change, when the files have come to rest. */
  constructor(paths: readonly string[], onChange: () => void) {
    this.#paths = paths;
    this.#onChange = onChange;
    this.#seen = contentOf(paths);
    for (const path of paths) watchFile(path, { interval: LOOK_MS }, this.#look);
  }

  /** Takes the present content as known. */
  accept(): void {
    clearTimeout(this.#timer);
    this.#seen = contentOf(this.#paths);
  }

  stop(): void {
    clearTimeout(this.#timer);
    for (const path of this.#paths) unwatchFile(path, this.#look);
  }

  #touched(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      const before = this.#seen;
      this.#seen = contentOf(this.#paths);
      if (this.#seen !== before) this.#onChange();
    }, SETTLE_MS);
  }
}

/** A digest, so that no keys are kept; a file that is missing counts as a content of its own. */
function contentOf(paths: readonly string[]): string {
  const digest = createHash('sha256');
  for (const path of paths) {
    try {
      digest.update(readFileSync(path)).update('\0');
    } catch {
      digest.update('\0missing\0');
    }
  }
  return digest.digest('hex');
}
