/** The real file system on a disk that can be full: a write takes what fits, then ENOSPC. */
import { type FileCalls, realFiles } from '../../lib/journal/file-calls';

export interface SmallDisk {
  readonly files: FileCalls;
  /** Bytes that still fit. */
  free: number;
  /** Calls of `write` so far. */
  writes: number;
  /** Most calls that ran at a time. */
  most: number;
}

export function errno(code: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${code}: made up`), { code });
}

/**
 * @param free bytes that fit.
 * @param most bytes that one call of `write` takes, to make every write a partial one.
 */
export function smallDisk(free = Number.POSITIVE_INFINITY, most = Number.POSITIVE_INFINITY): SmallDisk {
  let running = 0;
  const disk: SmallDisk = {
    free,
    writes: 0,
    most: 0,
    files: {
      ...realFiles,
      async write(fd, buffer, offset) {
        disk.writes++;
        disk.most = Math.max(disk.most, ++running);
        try {
          const room = Math.min(buffer.length - offset, disk.free, most);
          if (room === 0) throw errno('ENOSPC');
          const count = await realFiles.write(fd, buffer.subarray(0, offset + room), offset);
          disk.free -= count;
          return count;
        } finally {
          running--;
        }
      },
    },
  };
  return disk;
}
