/** What `narwhal journal` says of files that it cannot read. */
import { noJournal, unreadable } from '../../lib/cli/journal/faults';
import type { ReadResult } from '../../lib/cli/journal/read';

describe('a file that cannot be read', () => {
  it.each([
    ['ENOENT', /^there is no file j; name the journal of the gateway/],
    ['EACCES', /^this user may not read j; run it as the user of the gateway/],
    ['EPERM', /^this user may not read j;/],
    ['Z_DATA_ERROR', /^j is not packed by gzip;/],
    ['Z_BUF_ERROR', /^j ends in the middle of what gzip packed;/],
    ['EIO', /^j cannot be read: words$/],
    [undefined, /^j cannot be read: words$/],
  ])('has, with code %s, a message of its own', (code, text) => {
    expect(unreadable('j', Object.assign(new Error('words'), { code }) as NodeJS.ErrnoException)).toMatch(
      text,
    );
  });

  it('is named once without its slash where it is a folder', () => {
    const error = Object.assign(new Error('words'), { code: 'EISDIR' });
    expect(unreadable('logs//', error)).toBe(
      'logs// is a folder; name the files in it, such as logs/*.jsonl*',
    );
  });
});

describe('files without a row of a journal', () => {
  const read = (fields: object): ReadResult =>
    ({
      summary: { rows: 0 },
      files: ['a', '-'],
      meta_rows: 0,
      older_rows: 0,
      bad_lines: 0,
      ...fields,
    }) as never;

  it('are said to be empty, or to be something else', () => {
    expect(noJournal(read({}))).toMatch(/^no journal rows in a, standard input \(empty\); name/);
    expect(noJournal(read({ bad_lines: 2 }))).toMatch(/\(2 lines of something else\)/);
  });

  it.each([{ summary: { rows: 1 } }, { meta_rows: 1 }, { older_rows: 1 }])('are fine with %j', (fields) => {
    expect(noJournal(read(fields))).toBeNull();
  });
});
