/** Names of rotated files: `path.1` is the newest, `path.<maxFiles>` the oldest that is kept. */
import type { FileCalls } from './file-calls';

/**
 * Moves `path` to `path.1`, after every older file has moved up by one. Files move only as far as the
 * first free name, so that the oldest is given up only when all names are taken.
 *
 * A call that fails half way may be repeated: it then finds the free name that it has left.
 *
 * @param maxFiles how many rotated files are kept, at least 1.
 */
export async function rotate(calls: FileCalls, path: string, maxFiles: number): Promise<void> {
  let free = 1;
  while (free < maxFiles && (await exists(calls, `${path}.${free}`))) free++;
  for (let n = free; n > 1; n--) await calls.rename(`${path}.${n - 1}`, `${path}.${n}`);
  await calls.rename(path, `${path}.1`);
}

async function exists(calls: FileCalls, path: string): Promise<boolean> {
  try {
    await calls.stat(path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}
