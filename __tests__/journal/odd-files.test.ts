/** A journal whose file cannot be asked, or takes no bytes. */
import { realFiles } from '../../lib/journal/file-calls';
import { JournalWriter, type JournalWriterOptions } from '../../lib/journal/writer';
import { HEADER, type JournalFolder, journalFolder, numbers, row } from './journal-folder';
import { errno } from './small-disk';

let journal: JournalFolder;
let warnings: string[];
beforeEach(() => {
  journal = journalFolder();
  warnings = [];
});
afterEach(() => {
  journal.remove();
});

function open(more: Partial<JournalWriterOptions> = {}): JournalWriter {
  const onWarning = (message: string) => void warnings.push(message);
  return new JournalWriter({ path: journal.path, header: HEADER, onWarning, ...more });
}

describe('a journal', () => {
  it('closes a file again that cannot be asked for its size, and opens it anew later', async () => {
    const closed: number[] = [];
    let isBroken = true;
    const files = {
      ...realFiles,
      fstat: (fd: number) => (isBroken ? Promise.reject(errno('EIO')) : realFiles.fstat(fd)),
      close: (fd: number) => {
        closed.push(fd);
        return realFiles.close(fd);
      },
    };
    const writer = open({ files });
    writer.write(row(1));
    await writer.flush();
    expect([closed.length, warnings]).toEqual([1, [expect.stringMatching(/\(EIO\)/)]]);
    isBroken = false;
    await writer.close();
    expect(journal.rows()).toEqual([JSON.parse(row(1))]);
    expect(writer.lost).toBe(0);
  });

  it('says what is wrong also where that fails without a code, and where closing fails too', async () => {
    let isBroken = true;
    const files = {
      ...realFiles,
      fstat: (fd: number) => (isBroken ? Promise.reject(new Error('no words')) : realFiles.fstat(fd)),
      close: async (fd: number) => {
        await realFiles.close(fd);
        if (isBroken) throw errno('EIO');
      },
    };
    const writer = open({ files });
    writer.write(row(1));
    await writer.flush();
    expect(warnings).toEqual([expect.stringMatching(/\(no words\)/)]);
    isBroken = false;
    await writer.close();
    expect(journal.rows()).toHaveLength(1);
  });

  it('waits for a file that takes no bytes, in place of asking it for ever', async () => {
    let isFull = true;
    const files = {
      ...realFiles,
      write: (fd: number, buffer: Buffer, offset: number) =>
        isFull ? Promise.resolve(0) : realFiles.write(fd, buffer, offset),
    };
    const writer = open({ files });
    for (const n of numbers(3)) writer.write(row(n));
    await writer.flush();
    expect(warnings).toEqual([expect.stringMatching(/\(the file takes no more bytes\)/)]);
    isFull = false;
    await writer.close();
    expect(journal.rows().map(({ n }) => n)).toEqual([0, 1, 2]);
  });

  it('goes on writing where its open file can no longer be asked', async () => {
    let isBroken = false;
    const files = {
      ...realFiles,
      fstat: (fd: number) => (isBroken ? Promise.reject(errno('EIO')) : realFiles.fstat(fd)),
    };
    const writer = open({ files });
    writer.write(row(0));
    await writer.flush();
    isBroken = true;
    writer.write(row(1));
    await writer.flush();
    await writer.close();
    expect([journal.rows().map(({ n }) => n), writer.lost]).toEqual([[0, 1], 0]);
  });
});
