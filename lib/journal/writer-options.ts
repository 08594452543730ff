/** Options of the journal writer: what they are, and what they are when left out. */
import { statSync } from 'node:fs';
import { ConfigError } from '../errors';
import { checkAll, checkFunction, checkNumber, checkOptions } from '../options';
import { type FileCalls, realFiles } from './file-calls';

/** What a journal writer takes. */
export interface JournalWriterOptions {
  /** The file. Its folder is created if it is missing. */
  readonly path: string;
  /** First line of each file and of each opening of it: JSON text without a line end. */
  readonly header: string;
  /** Bytes above which the file is rotated. A longer row is written all the same. @default 256 MiB */
  readonly maxBytes?: number | undefined;
  /** Rotated files to keep beside the current one, at least 1. @default 8 */
  readonly maxFiles?: number | undefined;
  /** Told once when rows cannot be written, once when they can again, and of rotation that fails. */
  readonly onWarning?: ((message: string) => void) | undefined;
  /** Characters that start a write at once. @default 65536 */
  readonly flushBytes?: number | undefined;
  /** Milliseconds that a row waits for company, at most 100. @default 50 */
  readonly flushMs?: number | undefined;
  /** The file system, for tests of its faults. @internal */
  readonly files?: FileCalls | undefined;
}

/** The options, checked, with nothing left out. */
export type WriterSettings = {
  readonly [K in keyof JournalWriterOptions]-?: NonNullable<JournalWriterOptions[K]>;
};

const KNOWN = [
  'path',
  'header',
  'maxBytes',
  'maxFiles',
  'onWarning',
  'flushBytes',
  'flushMs',
  'files',
] as const;
const MAX_BYTES = 256 * 1024 * 1024;

/** @throws {ConfigError} for a bad option, an empty path and a path that is a folder. */
export function resolveWriterOptions(options: JournalWriterOptions): WriterSettings {
  const given = checkOptions<JournalWriterOptions>('journal', options, KNOWN);
  const whole = (name: string, value: number) =>
    checkNumber(`journal: ${name}`, value, { min: 1, integer: true });
  const settings = checkAll<WriterSettings>('journal', {
    path: () => checkPath(given.path),
    header: () => checkHeader(given.header),
    maxBytes: () => whole('maxBytes', given.maxBytes ?? MAX_BYTES),
    maxFiles: () => whole('maxFiles', given.maxFiles ?? 8),
    onWarning: () => checkFunction('journal: onWarning', given.onWarning ?? (() => undefined)),
    flushBytes: () => whole('flushBytes', given.flushBytes ?? 65_536),
    flushMs: () => checkNumber('journal: flushMs', given.flushMs ?? 50, { min: 0, max: 100 }),
    files: () => given.files ?? realFiles,
  });
  return Object.freeze(settings);
}

function checkPath(path: unknown): string {
  if (typeof path !== 'string' || path === '')
    throw new ConfigError('journal: path must be the name of a file');
  if (path.includes('\0')) throw new ConfigError('journal: path must not hold a null character');
  if (path.endsWith('/') || isFolder(path))
    throw new ConfigError(`journal: path ${path} is a folder, not a file`);
  return path;
}

/** Everything but a folder may yet come right: a missing parent, a lack of rights, a full disk. */
function isFolder(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  } catch {
    return false;
  }
}

function checkHeader(header: unknown): string {
  if (typeof header === 'string' && header !== '' && !/[\r\n]/.test(header)) return header;
  throw new ConfigError('journal: header must be one line of JSON text');
}
