/** `narwhal journal`: what happened, from the rows. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { sinceOf } from '../../lib/cli/journal/command';
import { unreadable } from '../../lib/cli/journal/faults';
import { time } from '../../lib/cli/journal/report';
import type { JournalRow } from '../../lib/index';
import { FAILED, journalText, row } from '../helpers/journal-rows';
import { type Ended, runNarwhal, tempFolder } from './narwhal';

function summary(files: Readonly<Record<string, string>>, args: readonly string[] = []): Promise<Ended> {
  const cwd = tempFolder();
  for (const [name, text] of Object.entries(files)) writeFileSync(join(cwd, name), text);
  return runNarwhal(['journal', ...Object.keys(files), ...args], { cwd });
}

async function asJson(files: Readonly<Record<string, string>>, args: readonly string[] = []) {
  const { code, stdout, stderr } = await summary(files, [...args, '--json']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout) as Record<string, unknown>;
}

describe('narwhal journal', () => {
  test('counts outcomes by terminal and reason, and names the latest of each', async () => {
    const rows = [
      row({ at: '2026-05-01T08:00:00.000Z' }),
      row({ ...FAILED, rid: 'late', at: '2026-05-01T10:00:00.000Z' }),
      row({ ...FAILED, rid: 'early', at: '2026-05-01T09:00:00.000Z', status: 502 }),
      row({ terminal: 'rejected', reason: 'unauthenticated', status: 401, at: '2026-05-01T08:30:00.000Z' }),
    ];
    const result = await asJson({ 'rows.jsonl': journalText(rows) });
    expect(result).toMatchObject({ rows: 4, meta_rows: 1, bad_lines: 0, retried: 2 });
    expect(result['outcomes']).toEqual([
      {
        terminal: 'failed',
        reason: 'engine_timeout',
        rows: 2,
        statuses: [502, 504],
        last_at: '2026-05-01T10:00:00.000Z',
        last_rid: 'late',
      },
      expect.objectContaining({ terminal: 'completed', reason: null, rows: 1 }),
      expect.objectContaining({ terminal: 'rejected', reason: 'unauthenticated', statuses: [401] }),
    ]);
    expect(result).toMatchObject({ from: '2026-05-01T08:00:00.000Z', to: '2026-05-01T10:00:00.000Z' });
  });

  test('gives percentiles by tenant and by engine', async () => {
    const rows = Array.from({ length: 100 }, (_, at) =>
      row({
        tenant: 'acme',
        first_byte_s: (at + 1) / 100,
        tpot_s: (at + 1) / 1000,
        prefill_iid: `p${at % 2}`,
      }),
    );
    const result = await asJson({
      'rows.jsonl': journalText([...rows, row({ tenant: 'bolt', decode_iid: 'd1' })]),
    });
    const [acme, bolt] = result['tenants'] as { name: string; first_byte_s: Record<string, number> }[];
    expect(acme).toMatchObject({ name: 'acme', rows: 100, completed: 100 });
    for (const [name, right] of Object.entries({ p50: 0.5, p90: 0.9, p99: 0.99 })) {
      expect(Math.abs(acme!.first_byte_s[name]! - right)).toBeLessThan(0.011 * right);
    }
    expect(bolt).toMatchObject({ name: 'bolt', rows: 1 });
    const engines = result['engines'] as { name: string; rows: number }[];
    expect(engines.map(({ name, rows: count }) => [name, count])).toEqual([
      ['d0 decode', 100],
      ['d1 decode', 1],
      ['p0 prefill', 51],
      ['p1 prefill', 50],
    ]);
  });

  test('counts the failed attempts of an engine, also of requests that ended well', async () => {
    const failure = {
      attempt: 1,
      leg: 'prefill',
      iid: 'p9',
      reason: 'engine_error',
      status: 500,
      message: '',
    };
    const rows = [row({ attempts: 2, attempt_failures: [failure] as JournalRow['attempt_failures'] })];
    const result = await asJson({ 'rows.jsonl': journalText(rows) });
    expect(result['engines']).toContainEqual(
      expect.objectContaining({ name: 'p9 prefill', rows: 0, failed_attempts: 1 }),
    );
  });

  test('lists the slowest requests first, as many as asked for', async () => {
    const rows = [3, 1, 4, 1, 5, 9, 2, 6].map((seconds) =>
      row({ rid: `took-${seconds}`, duration_s: seconds }),
    );
    const result = await asJson({ 'rows.jsonl': journalText(rows) }, ['--top', '3']);
    const slowest = result['slowest'] as { rid: string }[];
    expect(slowest.map(({ rid }) => rid)).toEqual(['took-9', 'took-6', 'took-5']);
    expect((await asJson({ 'rows.jsonl': journalText(rows) }, ['--top', '0']))['slowest']).toEqual([]);
  });

  test('counts and skips lines that are no row', async () => {
    const text = `${journalText([row(), row()])}{"rid":"cut","at":"2026-0\n\n[]\nnull\n"text"\n${JSON.stringify(row()).slice(0, 50)}`;
    expect(await asJson({ 'rows.jsonl': text })).toMatchObject({ rows: 2, bad_lines: 5 });
  });

  test('counts a whole row at the end of a file that lacks its line end', async () => {
    const text = journalText([row()]).trimEnd();
    expect(await asJson({ 'rows.jsonl': text })).toMatchObject({ rows: 1, bad_lines: 0 });
  });

  test('reads rotated files as one journal, and leaves out what is older than --since', async () => {
    const hoursAgo = (hours: number) => row({ at: new Date(Date.now() - hours * 3_600_000).toISOString() });
    const files = {
      'rows.jsonl': journalText([hoursAgo(0.1), hoursAgo(0.5)]),
      'rows.jsonl.1': journalText([hoursAgo(0.9), hoursAgo(3)]),
      'rows.jsonl.2': journalText([hoursAgo(30)]),
    };
    expect(await asJson(files)).toMatchObject({
      rows: 5,
      meta_rows: 3,
      files: ['rows.jsonl.2', 'rows.jsonl.1', 'rows.jsonl'],
    });
    expect(await asJson(files, ['--since', '1h'])).toMatchObject({ rows: 3, older_rows: 2 });
  });

  test('reads standard input', async () => {
    const { stdout } = await runNarwhal(['journal', '-'], { input: journalText([row()]) });
    expect(stdout).toContain('1 row of 1 file');
  });

  test('shows tables, and no control character of a row', async () => {
    const { code, stdout } = await summary({
      'rows.jsonl': journalText([row({ tenant: 'a\u001b[31mred\nline' }), row(FAILED)]),
    });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^completed +- +1 +50\.0% +200 /m);
    expect(stdout).toMatch(/^failed +engine_timeout +1 +50\.0% +504 /m);
    expect(stdout).toMatch(/^p0 prefill +2 +1 /m);
    expect(stdout).toMatch(/^ *400ms +200ms +0ms +20 +1 +completed +p0 -> d0 /m);
    expect(stdout).toContain('a?[31mred?line');
    expect(stdout).not.toContain('\u001b');
  });

  test('is content with a journal that has no row yet', async () => {
    expect(await summary({ 'rows.jsonl': journalText([]) })).toEqual({
      code: 0,
      stdout: '0 rows of 1 file\n',
      stderr: '',
    });
  });

  test.each([
    ['an empty file', '', 'empty'],
    ['another file', 'hello\n{"a":1}\n', '2 lines of something else'],
  ])('says of %s that it is no journal, and ends with code 1', async (_words, text, what) => {
    for (const args of [[], ['--json']]) {
      expect(await summary({ 'rows.txt': text }, args)).toEqual({
        code: 1,
        stdout: '',
        stderr: `narwhal: no journal rows in rows.txt (${what}); name the journal of the gateway (narwhal serve: ./narwhal-journal.jsonl, or its --journal)\n`,
      });
    }
  });

  test('tells of rows of a version that it does not know', async () => {
    const text = journalText([row()]).replace('"schema_version":1', '"schema_version":2');
    expect((await summary({ 'rows.jsonl': text })).stdout).toContain('rows of version 2');
  });

  test('ends with code 1 for a file that cannot be read, and says what to do', async () => {
    const cwd = tempFolder();
    mkdirSync(join(cwd, 'logs'));
    writeFileSync(join(cwd, 'rows.jsonl.gz'), journalText([row()]));
    writeFileSync(join(cwd, 'cut.jsonl.gz'), gzipSync(journalText([row()])).subarray(0, 40));
    const refused = async (path: string): Promise<string> => {
      const { code, stdout, stderr } = await runNarwhal(['journal', path], { cwd });
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      return stderr;
    };
    expect(await refused('none.jsonl')).toBe(
      'narwhal: there is no file none.jsonl; name the journal of the gateway (narwhal serve: ./narwhal-journal.jsonl, or its --journal)\n',
    );
    expect(await refused('logs/')).toBe(
      'narwhal: logs/ is a folder; name the files in it, such as logs/*.jsonl*\n',
    );
    expect(await refused('rows.jsonl.gz')).toContain('rows.jsonl.gz is not packed by gzip;');
    expect(await refused('cut.jsonl.gz')).toContain('cut.jsonl.gz ends in the middle of what gzip packed;');
  });

  test.each([
    ['EACCES', 'this user may not read rows.jsonl; run it as the user of the gateway'],
    ['EIO', 'rows.jsonl cannot be read: a fault'],
  ])('has words for a file that is there and cannot be read: %s', (code, words) => {
    expect(unreadable('rows.jsonl', Object.assign(new Error('a fault'), { code }))).toContain(words);
  });
});

describe('the time of --since', () => {
  const now = Date.parse('2026-05-02T12:00:00Z');

  test.each([
    ['90s', '2026-05-02T11:58:30.000Z'],
    ['15m', '2026-05-02T11:45:00.000Z'],
    ['1.5h', '2026-05-02T10:30:00.000Z'],
    ['2d', '2026-04-30T12:00:00.000Z'],
    ['2026-05-01', '2026-05-01T00:00:00.000Z'],
    ['2026-05-01T08:00:00Z', '2026-05-01T08:00:00.000Z'],
    ['2026-05-01T08:00:00+02:00', '2026-05-01T06:00:00.000Z'],
  ])('%s is %s', (text, at) => {
    expect(new Date(sinceOf(text, now)!).toISOString()).toBe(at);
  });

  test.each(['1', 'h', '-1h', '2026-13-01', 'yesterday', '1 h'])('%s is none', (text) => {
    expect(() => sinceOf(text, now)).toThrow('--since must be a time such as');
  });
});

describe('a time in a table', () => {
  test.each([
    [0.00052, '0.52ms'],
    [0.0123, '12ms'],
    [0.1204, '120ms'],
    [0.9996, '1000ms'],
    [1.2345, '1.23s'],
    [120, '120s'],
    [null, '-'],
  ])('%s is %s', (seconds, text) => {
    expect(time(seconds)).toBe(text);
  });
});
