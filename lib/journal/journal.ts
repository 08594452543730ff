/** Where rows go: the library's own file, a sink of the host, or a winston logger. */
import { ConfigError } from '../errors';
import { newId } from '../ids';
import type { Logger } from '../logger';
import { checkFunction, checkOptions } from '../options';
import { Roster } from '../roster';
import type { JournalRow } from './row';
import { rowText } from './row-text';
import { JournalWriter } from './writer';

/** A place for rows that the host brings. */
export interface JournalSink {
  /** Takes one row. May be async; what it throws is logged and counted, and fails no request. */
  write(row: JournalRow): unknown;
  /** Called once, when everything is written. May be async. */
  close(): unknown;
  /** Rows that it took and could not keep, where it counts them. */
  readonly lost?: number | undefined;
}

/** What is needed of a winston logger: it gets each row as the fields of one `info` line. */
export interface WinstonLike {
  /** Takes one entry. */
  log(entry: object): unknown;
  /** Only looked for: it tells a logger from a sink. */
  configure(options: object): unknown;
}

/** A journal file and when it is rotated. */
export interface JournalFileOptions {
  /** Path of the file; rows are appended. */
  readonly path: string;
  /** Bytes above which the file is rotated. Default 256 MiB. */
  readonly maxBytes?: number | undefined;
  /** Rotated files that are kept. Default 8. */
  readonly maxFiles?: number | undefined;
}

/** What `createJournal` takes: a path, a file with limits, a sink, a winston logger, or false for none. */
export type JournalOptions = string | JournalFileOptions | JournalSink | WinstonLike | false;

/** A journal. Made by `createJournal`. */
export interface Journal {
  /** Id of this opening: the `run` of its rows. */
  readonly run: string;
  /** Takes one row; never throws. */
  write(row: JournalRow): void;
  /** Rows that could not be kept. */
  readonly lost: number;
  /** Flushes and closes; a second call returns the same promise. */
  close(): Promise<void>;
}

const PACKAGE = 'express-narwhal';
/** Version of the rows' schema. */
export const JOURNAL_SCHEMA_VERSION = 1;

/**
 * Opens a journal. A relative path counts from the working directory.
 *
 * @example
 * ```ts
 * import express from 'express';
 * import { createJournal, journalRecord } from 'express-narwhal';
 *
 * const journal = createJournal({ path: './requests.jsonl', maxBytes: 64 * 1024 * 1024, maxFiles: 4 });
 * express().use(journalRecord({ journal }));
 * process.once('SIGTERM', () => journal.close());
 * ```
 *
 * @param options where rows go.
 * @param logger told when rows cannot be kept. Default: nobody.
 * @throws {ConfigError} for anything that is none of the forms of `JournalOptions`.
 */
export function createJournal(options: JournalOptions, logger?: Logger): Journal {
  if (options === false) return new SinkJournal({ write: () => undefined, close: () => undefined }, logger);
  if (typeof options === 'string') return new FileJournal({ path: options }, logger);
  if (typeof options !== 'object' || options === null) throw notAJournal();
  // A winston logger is a stream, so it has write() and close() as well: it is asked for first.
  if (isWinston(options)) return new SinkJournal(winstonSink(options), logger);
  if ('write' in options) {
    checkFunction('journal: write', options.write);
    checkFunction('journal: close', options.close);
    return new SinkJournal(options, logger);
  }
  if ('path' in options) return new FileJournal(options, logger);
  throw notAJournal();
}

function notAJournal(): ConfigError {
  return new ConfigError(
    'journal must be a path, { path, maxBytes, maxFiles }, a sink { write(row), close() }, a winston logger, or false',
  );
}

class FileJournal implements Journal {
  readonly run = newId();
  readonly #writer: JournalWriter;

  constructor(options: JournalFileOptions, logger: Logger | undefined) {
    const { path, maxBytes, maxFiles } = checkOptions('journal', options, ['path', 'maxBytes', 'maxFiles']);
    if (typeof path !== 'string') throw new ConfigError('journal: path must be a string');
    this.#writer = new JournalWriter({
      path,
      maxBytes,
      maxFiles,
      header: metaRow(),
      onWarning: (message) => logger?.warn(message),
    });
  }

  get lost(): number {
    return this.#writer.lost;
  }

  write(row: JournalRow): void {
    this.#writer.write(rowText(row));
  }

  close(): Promise<void> {
    return this.#writer.close();
  }
}

class SinkJournal implements Journal {
  readonly run = newId();
  #thrown = 0;
  readonly #sink: JournalSink;
  readonly #logger: Logger | undefined;
  readonly #writes = new Roster<Promise<unknown>>();
  #warned = false;
  #closing: Promise<void> | null = null;

  constructor(sink: JournalSink, logger: Logger | undefined) {
    this.#sink = sink;
    this.#logger = logger;
  }

  get lost(): number {
    return this.#thrown + (this.#sink.lost ?? 0);
  }

  write(row: JournalRow): void {
    try {
      const result = this.#sink.write(row);
      if (result instanceof Promise) this.#follow(result);
    } catch (error) {
      this.#lose(error);
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  #follow(write: Promise<unknown>): void {
    const place = this.#writes.add(
      write.catch((error: unknown) => this.#lose(error)).finally(() => this.#writes.remove(place)),
    );
  }

  async #close(): Promise<void> {
    await Promise.all(this.#writes);
    try {
      await this.#sink.close();
    } catch (error) {
      this.#logger?.warn('the journal sink failed to close', { error: textOf(error) });
    }
  }

  #lose(error: unknown): void {
    this.#thrown++;
    if (this.#warned) return;
    this.#warned = true;
    this.#logger?.warn('the journal sink failed; rows are lost', { error: textOf(error) });
  }
}

function isWinston(value: object): value is WinstonLike {
  const { log, configure } = value as Partial<WinstonLike>;
  return typeof log === 'function' && typeof configure === 'function';
}

/** Sends rows to a winston logger. It stays the host's: closing the journal does not close it. */
function winstonSink(logger: WinstonLike): JournalSink {
  return {
    write(row: JournalRow): void {
      logger.log({ level: 'info', message: 'narwhal.journal', ...row });
    },
    close: () => undefined,
  };
}

function metaRow(): string {
  return JSON.stringify({
    meta: {
      schema: 'narwhal.journal',
      schema_version: JOURNAL_SCHEMA_VERSION,
      package: PACKAGE,
      version: packageVersion(),
    },
  });
}

/** The version of this package. */
export function packageVersion(): string {
  // The same relative path holds for lib/ and for the built dist/.
  return (require('../../package.json') as { version: string }).version;
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
