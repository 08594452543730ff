/** Why there is no summary, and what to do about it. */
import { DEFAULT_JOURNAL } from '../serve/defaults';
import { count } from '../table';
import type { ReadResult } from './read';

/** @returns what is said of a file that cannot be read. */
export function unreadable(path: string, { code, message }: NodeJS.ErrnoException): string {
  switch (code) {
    case 'ENOENT':
      return `there is no file ${path}; name the journal of the gateway (narwhal serve: ${DEFAULT_JOURNAL}, or its --journal)`;
    case 'EISDIR':
      return `${path} is a folder; name the files in it, such as ${path.replace(/\/+$/, '')}/*.jsonl*`;
    case 'EACCES':
    case 'EPERM':
      return `this user may not read ${path}; run it as the user of the gateway, or change the mode of the file`;
    case 'Z_DATA_ERROR':
      return `${path} is not packed by gzip; give it a name that does not end with .gz`;
    case 'Z_BUF_ERROR':
      return `${path} ends in the middle of what gzip packed; pack it again from the original`;
    case undefined:
    default:
      return `${path} cannot be read: ${message}`;
  }
}

/** @returns what is said where the files hold nothing of a journal; null where they do, even without a row. */
export function noJournal({ summary, files, meta_rows, older_rows, bad_lines }: ReadResult): string | null {
  if (summary.rows + meta_rows + older_rows > 0) return null;
  const what = bad_lines === 0 ? 'empty' : `${count(bad_lines, 'line')} of something else`;
  const names = files.map((path) => (path === '-' ? 'standard input' : path)).join(', ');
  return `no journal rows in ${names} (${what}); name the journal of the gateway (narwhal serve: ${DEFAULT_JOURNAL}, or its --journal)`;
}
