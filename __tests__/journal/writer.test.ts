import { once } from 'node:events';
import { appendFileSync, existsSync, mkdirSync, readFileSync, watch, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigError } from '../../lib/errors';
import { JournalWriter, type JournalWriterOptions } from '../../lib/journal/writer';
import { HEADER, type JournalFolder, journalFolder, numbers, row } from './journal-folder';
import { smallDisk } from './small-disk';

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

describe('JournalWriter', () => {
  it('writes the header, then each row on a line of its own, in order', async () => {
    const writer = open();
    for (const n of numbers(1000)) writer.write(row(n));
    await writer.close();
    const lines = journal.lines(journal.path);
    expect(lines[0]).toBe(HEADER);
    expect(lines).toHaveLength(1001);
    expect(journal.rows().map(({ n }) => n)).toEqual(numbers(1000));
    expect([writer.written, writer.lost]).toEqual([1000, 0]);
  });

  it('writes a row without being asked to', async () => {
    const writer = open();
    await writer.flush();
    const watcher = watch(journal.path);
    const changed = once(watcher, 'change');
    writer.write(row(1));
    await changed;
    watcher.close();
    await writer.close();
    expect(journal.rows()).toHaveLength(1);
  });

  it('writes a full buffer without waiting for its timer', async () => {
    const writer = open({ flushBytes: 1000, flushMs: 100 });
    await writer.flush();
    const watcher = watch(journal.path);
    const changed = once(watcher, 'change');
    writer.write(row(1, 1000));
    await changed;
    watcher.close();
    await writer.close();
    expect(writer.written).toBe(1);
  });

  it('has every row so far on file when flush settles', async () => {
    const writer = open();
    for (const n of numbers(50)) {
      writer.write(row(n));
      await writer.flush();
      expect(journal.rows()).toHaveLength(n + 1);
    }
    await writer.close();
  });

  it('creates the folder, with its parents, and a file with a header before the first row', async () => {
    const path = join(journal.folder, 'a/b/rows.jsonl');
    const writer = open({ path });
    await writer.flush();
    expect(readFileSync(path, 'utf8')).toBe(`${HEADER}\n`);
    await writer.close();
  });

  it('starts each opening of a file with the header and keeps what was there', async () => {
    for (const n of numbers(3)) {
      const writer = open();
      writer.write(row(n));
      await writer.close();
    }
    expect(journal.lines(journal.path)).toEqual([HEADER, row(0), HEADER, row(1), HEADER, row(2)]);
  });

  it('does not glue its header to a line that a crash has cut', async () => {
    writeFileSync(journal.path, `${HEADER}\n{"n":7,"fi`);
    const writer = open();
    writer.write(row(8));
    await writer.close();
    expect(journal.lines(journal.path)).toEqual([HEADER, '{"n":7,"fi', HEADER, row(8)]);
  });

  it('appends where another program has written to the same file', async () => {
    const writer = open();
    writer.write(row(1));
    await writer.flush();
    appendFileSync(journal.path, `${row(2)}\n`);
    writer.write(row(3));
    await writer.close();
    expect(journal.rows().map(({ n }) => n)).toEqual([1, 2, 3]);
  });

  it('keeps characters of every width whole', async () => {
    const text = '\u00e9\u20ac\u{1f433}\u4f60\u2028';
    const disk = smallDisk(Number.POSITIVE_INFINITY, 1);
    const writer = open({ files: disk.files });
    writer.write(JSON.stringify({ n: 1, text }));
    await writer.close();
    expect(journal.rows()).toEqual([{ n: 1, text }]);
  });

  it('finishes partial writes and never has two writes under way', async () => {
    const disk = smallDisk(Number.POSITIVE_INFINITY, 7);
    const writer = open({ files: disk.files, flushBytes: 50 });
    for (const n of numbers(100)) {
      writer.write(row(n));
      if (n % 10 === 0) await new Promise(setImmediate);
    }
    await Promise.all([writer.flush(), writer.flush(), writer.close()]);
    expect(journal.rows().map(({ n }) => n)).toEqual(numbers(100));
    expect(disk.most).toBe(1);
  });

  it('closes once, and counts rows that come later as lost', async () => {
    const writer = open();
    writer.write(row(1));
    const closing = writer.close();
    writer.write(row(2));
    expect(writer.close()).toBe(closing);
    await closing;
    await writer.flush();
    writer.write(row(3));
    expect([writer.written, writer.lost]).toEqual([1, 2]);
    expect(journal.rows()).toHaveLength(1);
  });

  it('keeps a burst of one turn that is larger than what waits during trouble', async () => {
    const writer = open();
    for (const n of numbers(12_000)) writer.write(row(n, 1000));
    await writer.close();
    expect([writer.written, writer.lost]).toEqual([12_000, 0]);
    expect(journal.rows().map(({ n }) => n)).toEqual(numbers(12_000));
  });

  it('writes to what is no plain file, and never rotates it', async () => {
    const writer = open({ path: '/dev/null', maxBytes: 10 });
    for (const n of numbers(20)) writer.write(row(n));
    await writer.close();
    expect([writer.written, writer.lost]).toEqual([20, 0]);
    expect(existsSync('/dev/null.1')).toBe(false);
  });

  it('refuses plain mistakes of configuration at once', () => {
    mkdirSync(join(journal.folder, 'sub'));
    expect(() => open({ path: '' })).toThrow(ConfigError);
    expect(() => open({ path: journal.folder })).toThrow(/is a folder/);
    expect(() => open({ path: `${journal.folder}/later/` })).toThrow(/is a folder/);
    expect(() => open({ path: 'a\0b' })).toThrow(/null character/);
    expect(() => open({ header: '{}\n{}' })).toThrow(/header must be one line/);
    expect(() => open({ maxBytes: 0 })).toThrow('journal: maxBytes must be at least 1');
    expect(() => open({ maxFiles: 1.5 })).toThrow('journal: maxFiles must be a whole number');
    expect(() => open({ flushMs: 1000 })).toThrow('journal: flushMs must be at most 100');
    expect(() => open({ maxByte: 1 } as Partial<JournalWriterOptions>)).toThrow(/did you mean maxBytes/);
    expect(() => open({ onWarning: 'x' as unknown as () => void })).toThrow(/onWarning must be a function/);
  });
});
