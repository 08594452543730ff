/** Tells when the content of files has changed. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';

/**
 * How often the files are read. Reading, because it follows what a name leads to (deployments put a new file
 * or link in the place of the old one), works on every file system, and misses no change.
 */
const LOOK_MS = 400;

/** Watches small files. */
export class FileWatch {
  readonly #paths: readonly string[];
  readonly #onChange: () => void;
  /** Digest of the content that is known. */
  #seen: string;
  /** Digest of a new content that may still be in the writing: it counts once it is found twice. */
  #candidate: string | null = null;
  #isLooking = false;
  #timer: NodeJS.Timeout | undefined;

  /**
   * Takes the present content as known: make it before the files are read.
   *
   * @param onChange called once for each change, when the files have come to rest.
   */
  constructor(paths: readonly string[], onChange: () => void) {
    this.#paths = paths;
    this.#onChange = onChange;
    this.#seen = digestOf(paths.map(contentNow));
  }

  start(): void {
    this.#timer = setInterval(() => void this.#look(), LOOK_MS);
  }

  /** Takes the present content as known. */
  accept(): void {
    this.#candidate = null;
    this.#seen = digestOf(this.#paths.map(contentNow));
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async #look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    const before = this.#seen;
    const digest = digestOf(await Promise.all(this.#paths.map(contentOf)));
    this.#isLooking = false;
    // While it read, somebody else may have taken the new content.
    if (this.#seen !== before) return;
    if (digest === this.#seen) this.#candidate = null;
    else if (digest === this.#candidate) {
      this.#candidate = null;
      this.#seen = digest;
      this.#onChange();
    } else this.#candidate = digest;
  }
}

/** A file that is missing has a content of its own: null. */
function contentNow(path: string): Buffer | null {
  try {
    return readFileSync(path);
  } catch {
    return null;
  }
}

function contentOf(path: string): Promise<Buffer | null> {
  return readFile(path).catch(() => null);
}

/** A digest, so that no keys are kept. */
function digestOf(contents: readonly (Buffer | null)[]): string {
  const digest = createHash('sha256');
  for (const content of contents) {
    digest.update(content === null ? 'none\0' : `${content.length}\0`);
    if (content !== null) digest.update(content);
  }
  return digest.digest('hex');
}
