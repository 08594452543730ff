import { EventEmitter, once } from 'node:events';
import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { realFiles } from '../../lib/journal/file-calls';
import { JournalWriter, type JournalWriterOptions } from '../../lib/journal/writer';
import { HEADER, type JournalFolder, journalFolder, numbers, row } from './journal-folder';
import { errno, smallDisk } from './small-disk';

let journal: JournalFolder;
let warnings: string[];
let warned: EventEmitter;
beforeEach(() => {
  journal = journalFolder();
  warnings = [];
  warned = new EventEmitter();
});
afterEach(() => {
  journal.remove();
});

function open(more: Partial<JournalWriterOptions> = {}): JournalWriter {
  const onWarning = (message: string) => {
    warnings.push(message);
    warned.emit('warning');
  };
  return new JournalWriter({ path: journal.path, header: HEADER, onWarning, ...more });
}

describe('a full disk', () => {
  it('keeps rows in memory, warns once, and writes them when there is room again', async () => {
    const disk = smallDisk(HEADER.length + 1);
    const writer = open({ files: disk.files });
    for (const n of numbers(30)) {
      writer.write(row(n));
      await writer.flush();
    }
    expect(writer.written).toBe(0);
    expect(warnings).toEqual([expect.stringMatching(/cannot be written \(ENOSPC\)/)]);
    disk.free = Number.POSITIVE_INFINITY;
    await writer.flush();
    expect(warnings).toEqual([
      expect.anything(),
      expect.stringMatching(/is written again; 0 rows were lost/),
    ]);
    await writer.close();
    expect(journal.lines(journal.path)).toEqual([HEADER, ...numbers(30).map((n) => row(n))]);
    expect([writer.written, writer.lost]).toEqual([30, 0]);
  });

  it('tries again by itself', async () => {
    const disk = smallDisk(0);
    const writer = open({ files: disk.files });
    writer.write(row(1));
    await once(warned, 'warning');
    const recovered = once(warned, 'warning');
    disk.free = Number.POSITIVE_INFINITY;
    // The writer's own timer keeps no process alive; this one does.
    const alive = setInterval(() => undefined, 1000);
    await recovered;
    clearInterval(alive);
    await writer.close();
    expect(journal.lines(journal.path)).toEqual([HEADER, row(1)]);
  });

  it('does not try again for each row that comes', async () => {
    const disk = smallDisk(0);
    const writer = open({ files: disk.files, flushBytes: 1 });
    await once(warned, 'warning');
    const before = disk.writes;
    for (const n of numbers(5000)) writer.write(row(n));
    expect(disk.writes).toBe(before);
    disk.free = Number.POSITIVE_INFINITY;
    await writer.close();
    expect(journal.rows()).toHaveLength(5000);
  });

  it('drops the oldest rows above 8 MiB, counts them, and warns no more than once', async () => {
    const disk = smallDisk(0);
    const writer = open({ files: disk.files });
    await once(warned, 'warning');
    for (const n of numbers(12_000)) writer.write(row(n, 1000));
    const { lost } = writer;
    expect(lost).toBeGreaterThan(3000);
    expect(lost).toBeLessThan(6000);
    disk.free = Number.POSITIVE_INFINITY;
    await writer.close();
    expect(journal.rows().map(({ n }) => n)).toEqual(numbers(12_000 - lost, lost));
    expect(writer.written + writer.lost).toBe(12_000);
    expect(warnings).toEqual([expect.anything(), expect.stringContaining(`${lost} rows were lost`)]);
  });

  it('finishes a line that was cut, even where the rows after it were dropped', async () => {
    const disk = smallDisk(HEADER.length + 1 + 20);
    const writer = open({ files: disk.files });
    writer.write(row(0, 100));
    await writer.flush();
    for (const n of numbers(10_000, 1)) writer.write(row(n, 1000));
    expect(writer.lost).toBeGreaterThan(0);
    disk.free = Number.POSITIVE_INFINITY;
    await writer.close();
    const written = journal.rows().map(({ n }) => n);
    expect(written).toEqual([0, ...numbers(10_000 - writer.lost, writer.lost + 1)]);
  });

  it('counts what is left as lost when it closes, and says so', async () => {
    const writer = open({ path: '/dev/full' });
    for (const n of numbers(5)) writer.write(row(n));
    await writer.flush();
    expect(warnings).toEqual([expect.stringMatching(/cannot be written \(ENOSPC\)/)]);
    await writer.close();
    expect([writer.written, writer.lost]).toEqual([0, 5]);
    expect(warnings).toEqual([expect.anything(), expect.stringMatching(/closed with 5 rows/)]);
  });

  it('warns again for a second time of trouble', async () => {
    const disk = smallDisk();
    const writer = open({ files: disk.files });
    for (const n of numbers(3)) {
      disk.free = 0;
      writer.write(row(n));
      await writer.flush();
      disk.free = Number.POSITIVE_INFINITY;
      await writer.flush();
    }
    await writer.close();
    expect(warnings.map((one) => /cannot be written/.test(one))).toEqual([
      true,
      false,
      true,
      false,
      true,
      false,
    ]);
    expect(journal.rows()).toHaveLength(3);
  });

  it('leaves whole lines only, each row once, wherever the disk was full', async () => {
    const plan = fc.array(fc.record({ grant: fc.nat(150), length: fc.nat(200) }), {
      minLength: 1,
      maxLength: 25,
    });
    await fc.assert(
      fc.asyncProperty(plan, fc.integer({ min: 100, max: 3000 }), async (steps, maxBytes) => {
        const fresh = journalFolder();
        const disk = smallDisk(0, 40);
        const options = { path: fresh.path, header: HEADER, maxBytes, maxFiles: 99, files: disk.files };
        const writer = new JournalWriter(options);
        for (const [n, { grant, length }] of steps.entries()) {
          disk.free = grant;
          writer.write(row(n, length));
          await writer.flush();
        }
        disk.free = Number.POSITIVE_INFINITY;
        await writer.close();
        expect(fresh.rows().map(({ n }) => n)).toEqual(numbers(steps.length));
        expect(writer.lost).toBe(0);
        fresh.remove();
      }),
      { numRuns: 60 },
    );
  });
});

describe('other faults of the disk', () => {
  it('reopens the file after an input/output error and starts a new line', async () => {
    let broken = false;
    const files = {
      ...realFiles,
      async write(fd: number, buffer: Buffer, offset: number) {
        if (!broken) return realFiles.write(fd, buffer, offset);
        broken = false;
        await realFiles.write(fd, buffer.subarray(0, offset + 10), offset);
        throw errno('EIO');
      },
    };
    // The first write cuts the row after ten bytes without telling how many it took.
    const writer = open({ files });
    await writer.flush();
    broken = true;
    writer.write(row(1));
    await writer.flush();
    expect(warnings).toEqual([expect.stringMatching(/\(EIO\)/)]);
    await writer.close();
    expect(journal.lines(journal.path)).toEqual([HEADER, row(1).slice(0, 10), HEADER, row(1)]);
  });

  it('waits for a folder that cannot be made, and writes when it can', async () => {
    const parent = join(journal.folder, 'later');
    writeFileSync(parent, 'a file where the folder should be');
    const path = join(parent, 'rows.jsonl');
    const writer = open({ path });
    writer.write(row(1));
    await writer.flush();
    expect(warnings).toEqual([expect.stringMatching(/cannot be written \((ENOTDIR|EEXIST)\)/)]);
    rmSync(parent);
    writer.write(row(2));
    await writer.close();
    expect(journal.lines(path)).toEqual([HEADER, row(1), row(2)]);
    expect(warnings).toHaveLength(2);
  });

  it('waits for rights it lacks', async () => {
    let denied = true;
    const files = {
      ...realFiles,
      open: (path: string, flags: 'a' | 'r') =>
        denied ? Promise.reject(errno('EACCES')) : realFiles.open(path, flags),
    };
    const writer = open({ files });
    writer.write(row(1));
    await writer.flush();
    expect(warnings).toEqual([expect.stringMatching(/\(EACCES\)/)]);
    denied = false;
    await writer.close();
    expect(journal.rows()).toEqual([JSON.parse(row(1))]);
  });

  it('makes the folder again when it was removed, and loses no row that came after', async () => {
    const path = join(journal.folder, 'sub/rows.jsonl');
    const writer = open({ path });
    writer.write(row(1));
    await writer.flush();
    rmSync(dirname(path), { recursive: true });
    writer.write(row(2));
    await writer.flush();
    expect(journal.lines(path)).toEqual([HEADER, row(2)]);
    await writer.close();
    expect(writer.lost).toBe(0);
  });

  it('leaves a full file that was removed to make room, and writes its row anew', async () => {
    const disk = smallDisk(HEADER.length + 1 + 25);
    const writer = open({ files: disk.files });
    writer.write(row(1, 100));
    await writer.flush();
    rmSync(journal.path);
    disk.free = Number.POSITIVE_INFINITY;
    await writer.close();
    expect(journal.lines(journal.path)).toEqual([HEADER, row(1, 100)]);
    expect([writer.written, writer.lost]).toEqual([1, 0]);
  });

  it('follows the name after another program has moved the file', async () => {
    const now = jest.spyOn(performance, 'now');
    const writer = open();
    writer.write(row(1));
    await writer.flush();
    renameSync(journal.path, `${journal.path}.1`);
    now.mockReturnValue(performance.now() + 60_000);
    writer.write(row(2));
    await writer.close();
    now.mockRestore();
    expect(journal.lines(journal.path)).toEqual([HEADER, row(2)]);
    expect(journal.lines(`${journal.path}.1`)).toEqual([HEADER, row(1)]);
  });

  it('loses no row to a listener that throws', async () => {
    const disk = smallDisk(0);
    const writer = open({
      files: disk.files,
      onWarning: () => {
        throw new Error('a bad logger');
      },
    });
    writer.write(row(1));
    await writer.flush();
    disk.free = Number.POSITIVE_INFINITY;
    await writer.close();
    expect(journal.rows()).toHaveLength(1);
  });

  it('closes where the disk cannot confirm, and says so', async () => {
    const files = { ...realFiles, fsync: () => Promise.reject(errno('EIO')) };
    const writer = open({ files });
    writer.write(row(1));
    await writer.close();
    expect(warnings).toEqual([expect.stringMatching(/may not be on the disk yet \(EIO\)/)]);
    expect(existsSync(journal.path)).toBe(true);
  });
});
