import { existsSync, mkdirSync, readdirSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import fc from 'fast-check';
import { realFiles } from '../../lib/journal/file-calls';
import { JournalWriter, type JournalWriterOptions } from '../../lib/journal/writer';
import { HEADER, type JournalFolder, journalFolder, numbers, row } from './journal-folder';
import { errno } from './small-disk';

let journal: JournalFolder;
beforeEach(() => {
  journal = journalFolder();
});
afterEach(() => {
  journal.remove();
});

function open(more: Partial<JournalWriterOptions> = {}): JournalWriter {
  return new JournalWriter({ path: journal.path, header: HEADER, ...more });
}

describe('rotation', () => {
  it('keeps every row once and in order under steady load, and writes to no removed file', async () => {
    const links: number[] = [];
    const files = {
      ...realFiles,
      async write(fd: number, buffer: Buffer, offset: number) {
        links.push((await realFiles.fstat(fd)).nlink);
        return realFiles.write(fd, buffer, offset);
      },
    };
    const writer = open({ maxBytes: 60_000, maxFiles: 40, flushBytes: 4000, files });
    for (const n of numbers(3000)) {
      writer.write(row(n, 300));
      if (n % 50 === 0) await wait(1);
    }
    await writer.close();
    expect(journal.rows().map(({ n }) => n)).toEqual(numbers(3000));
    expect(journal.files().length).toBeGreaterThan(10);
    for (const file of journal.files()) {
      expect(statSync(file).size).toBeLessThanOrEqual(60_000);
      expect(journal.lines(file)[0]).toBe(HEADER);
    }
    expect(new Set(links)).toEqual(new Set([1]));
    expect(writer.lost).toBe(0);
  });

  it('writes a row that alone is longer than a file, and goes on', async () => {
    const writer = open({ maxBytes: 1500, maxFiles: 30 });
    writer.write(row(0));
    writer.write(row(1, 4000));
    for (const n of numbers(120, 2)) writer.write(row(n, 50));
    await writer.close();
    expect(journal.rows().map(({ n }) => n)).toEqual(numbers(122));
    expect([writer.written, writer.lost]).toEqual([122, 0]);
  });

  it('rotates after each row where no row fits', async () => {
    const writer = open({ maxBytes: 1, maxFiles: 20 });
    for (const n of numbers(5)) writer.write(row(n));
    await writer.close();
    expect(journal.files().map(journal.lines)).toEqual(numbers(5).map((n) => [HEADER, row(n)]));
  });

  it('keeps as many rotated files as it is told, the newest', async () => {
    const writer = open({ maxBytes: 1, maxFiles: 3 });
    for (const n of numbers(10)) writer.write(row(n));
    await writer.close();
    expect(readdirSync(journal.folder).sort()).toEqual(
      ['rows.jsonl', 'rows.jsonl.1', 'rows.jsonl.2', 'rows.jsonl.3'].sort(),
    );
    expect(journal.rows().map(({ n }) => n)).toEqual([6, 7, 8, 9]);
  });

  it('counts what an earlier run has left in the file, and its rotated files', async () => {
    for (const n of numbers(4)) {
      const writer = open({ maxBytes: 150, maxFiles: 9 });
      writer.write(row(n, 80));
      await writer.close();
    }
    expect(journal.rows().map(({ n }) => n)).toEqual(numbers(4));
    expect(journal.files()).toHaveLength(4);
  });

  it('fills a gap between rotated files before it gives up the oldest', async () => {
    writeFileSync(`${journal.path}.2`, `${row(0)}\n`);
    const writer = open({ maxBytes: 1, maxFiles: 2 });
    writer.write(row(1));
    writer.write(row(2));
    await writer.close();
    expect(journal.rows().map(({ n }) => n)).toEqual([0, 1, 2]);
  });

  it('lets the file grow where it cannot be rotated, and says so once', async () => {
    const warnings: string[] = [];
    const files = { ...realFiles, rename: () => Promise.reject(errno('EPERM')) };
    const writer = open({ maxBytes: 100, files, onWarning: (message) => warnings.push(message) });
    for (const n of numbers(20)) {
      writer.write(row(n, 50));
      await writer.flush();
    }
    await writer.close();
    expect(journal.rows().map(({ n }) => n)).toEqual(numbers(20));
    expect(warnings).toEqual([expect.stringMatching(/cannot be rotated \(EPERM\)/)]);
  });

  it('does not move a file that somebody else has put in the place of its own', async () => {
    const writer = open({ maxBytes: 200 });
    writer.write(row(0, 100));
    await writer.flush();
    renameSync(journal.path, `${journal.path}.moved`);
    writeFileSync(journal.path, `${row(1)}\n`);
    writer.write(row(2, 100));
    await writer.close();
    expect(existsSync(`${journal.path}.1`)).toBe(false);
    expect(journal.lines(`${journal.path}.moved`)).toEqual([HEADER, row(0, 100)]);
    expect(journal.rows().map(({ n }) => n)).toEqual([1, 2]);
  });

  it('survives a folder that stands under the name of a rotated file', async () => {
    mkdirSync(`${journal.path}.1`);
    writeFileSync(`${journal.path}.1/x`, '');
    const writer = open({ maxBytes: 1, maxFiles: 1 });
    for (const n of numbers(3)) writer.write(row(n));
    await writer.close();
    expect(journal.lines(journal.path)).toEqual([HEADER, ...numbers(3).map((n) => row(n))]);
    expect(writer.lost).toBe(0);
  });

  it('loses and repeats nothing, whatever the sizes', async () => {
    const plan = fc.record({
      maxBytes: fc.integer({ min: 1, max: 2000 }),
      flushBytes: fc.integer({ min: 1, max: 1500 }),
      rows: fc.array(fc.record({ length: fc.nat(600), pause: fc.boolean() }), { maxLength: 40 }),
    });
    await fc.assert(
      fc.asyncProperty(plan, async ({ maxBytes, flushBytes, rows }) => {
        const fresh = journalFolder();
        const writer = new JournalWriter({
          path: fresh.path,
          header: HEADER,
          maxBytes,
          flushBytes,
          maxFiles: 99,
        });
        for (const [n, { length, pause }] of rows.entries()) {
          writer.write(row(n, length));
          if (pause) await new Promise(setImmediate);
        }
        await writer.close();
        expect(fresh.rows().map(({ n }) => n)).toEqual(numbers(rows.length));
        for (const file of fresh.files()) {
          const lines = fresh.lines(file);
          expect(lines[0]).toBe(HEADER);
          expect(statSync(file).size <= maxBytes || lines.length <= 2).toBe(true);
        }
        fresh.remove();
      }),
      { numRuns: 60 },
    );
  });
});
