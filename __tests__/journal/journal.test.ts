/** The forms of a journal that are not a file: sinks of the host, winston loggers, none. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import winston from 'winston';
import { ConfigError, createJournal, type JournalOptions, type JournalSink } from '../../lib/index';
import { thrownBy } from '../helpers/alone';
import { captureJournal } from '../helpers/capture-journal';
import { captureLogger } from '../helpers/capture-logger';
import { row } from '../helpers/journal-rows';

const FORMS =
  'journal must be a path, { path, maxBytes, maxFiles }, a sink { write(row), close() }, a winston logger, or false';

describe('createJournal', () => {
  it.each([undefined, null, true, 5, {}, []])('refuses %j, and names all forms', (options) => {
    const error = thrownBy(() => createJournal(options as unknown as JournalOptions));
    expect(error).toBeInstanceOf(ConfigError);
    expect(error?.message).toBe(FORMS);
  });

  it.each([
    [{ write: 5, close: () => undefined }, 'journal: write must be a function'],
    [{ write: () => undefined }, 'journal: close must be a function'],
    [{ path: 5 }, 'journal: path must be a string'],
  ])('refuses the half of a form: %o', (options, message) => {
    expect(thrownBy(() => createJournal(options as unknown as JournalOptions))?.message).toBe(message);
  });

  it('gives every journal a run of its own', () => {
    expect(createJournal(false).run).not.toBe(createJournal(false).run);
  });

  it('keeps nothing with false', async () => {
    const journal = createJournal(false);
    journal.write(row());
    await journal.close();
    expect(journal.lost).toBe(0);
  });

  it('writes to the path it is given, by itself or in options', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'journal-'));
    for (const form of [join(folder, 'a.jsonl'), { path: join(folder, 'b.jsonl') }]) {
      const journal = createJournal(form);
      journal.write(row({ rid: 'the-row' }));
      await journal.close();
      const path = typeof form === 'string' ? form : form.path;
      expect(existsSync(path)).toBe(true);
      const [meta, first] = readFileSync(path, 'utf8').trimEnd().split('\n');
      expect([meta, first]).toEqual([
        expect.stringContaining('"narwhal.journal"'),
        expect.stringContaining('the-row'),
      ]);
    }
    rmSync(folder, { recursive: true });
  });
});

describe('a sink of the host', () => {
  it('is closed once, after all that it was given is written', async () => {
    const order: string[] = [];
    let finish: () => void = () => undefined;
    const journal = createJournal({
      write: () =>
        new Promise<void>((resolve) => {
          finish = () => {
            order.push('written');
            resolve();
          };
        }),
      close: () => void order.push('closed'),
    });
    journal.write(row());
    const closing = journal.close();
    expect(journal.close()).toBe(closing);
    finish();
    await closing;
    expect(order).toEqual(['written', 'closed']);
  });

  it.each<[string, JournalSink['write']]>([
    ['throws', thrower(new Error('the disk is gone'))],
    ['rejects', () => Promise.reject(new Error('the disk is gone'))],
    ['throws what is no error', thrower('the disk is gone')],
    ['rejects with what is no error', () => Promise.reject('the disk is gone')],
  ])('that %s has each row counted as lost, and is told of once', async (_words, write) => {
    const logger = captureLogger();
    const journal = createJournal({ write, close: () => undefined }, logger);
    for (let n = 0; n < 3; n++) journal.write(row());
    await journal.close();
    expect(journal.lost).toBe(3);
    expect(logger.lines).toEqual([
      {
        level: 'warn',
        message: 'the journal sink failed; rows are lost',
        fields: { error: 'the disk is gone' },
      },
    ]);
  });

  it('that loses rows by itself has them counted with those that it threw', async () => {
    const sink = { lost: 4, write: thrower(new Error('no')), close: () => undefined };
    const journal = createJournal(sink);
    journal.write(row());
    expect(journal.lost).toBe(5);
    await journal.close();
  });

  it.each<[string, JournalSink['close']]>([
    ['throws', thrower(new Error('still busy'))],
    ['rejects', () => Promise.reject(new Error('still busy'))],
  ])('that %s in close() leaves the closing good, with a warning', async (_words, close) => {
    const logger = captureLogger();
    const journal = createJournal({ write: () => undefined, close }, logger);
    await journal.close();
    expect(logger.lines).toEqual([
      { level: 'warn', message: 'the journal sink failed to close', fields: { error: 'still busy' } },
    ]);
    expect(journal.lost).toBe(0);
  });

  it('fails in silence where nobody is there to be told', async () => {
    const fail = thrower(new Error('no'));
    const journal = createJournal({ write: fail, close: fail });
    journal.write(row());
    await journal.close();
    expect(journal.lost).toBe(1);
  });

  it('that has a function log(), and is no logger, is a sink', async () => {
    const sink = Object.assign(captureJournal(), { log: () => undefined });
    const journal = createJournal(sink);
    journal.write(row({ rid: 'kept' }));
    await journal.close();
    expect([sink.rows.map(({ rid }) => rid), sink.closed]).toEqual([['kept'], true]);
  });
});

describe('a winston logger', () => {
  it('gets each row as the fields of a line, and stays open for its host', async () => {
    const lines: string[] = [];
    const stream = new Writable({
      write(line: Buffer, _encoding, done) {
        lines.push(line.toString());
        done();
      },
    });
    const logger = winston.createLogger({
      format: winston.format.json(),
      transports: [new winston.transports.Stream({ stream })],
    });
    const journal = createJournal(logger);
    journal.write(row({ rid: 'r1', tenant: 'red' }));
    await journal.close();
    logger.info('the host goes on');
    expect(lines.map((line) => JSON.parse(line) as object)).toEqual([
      expect.objectContaining({ level: 'info', message: 'narwhal.journal', rid: 'r1', tenant: 'red' }),
      { level: 'info', message: 'the host goes on' },
    ]);
    logger.close();
  });
});

function thrower(thrown: unknown): () => never {
  return () => {
    throw thrown;
  };
}
