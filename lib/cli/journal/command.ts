/** `narwhal journal`: what happened, from the rows. */
import { UsageError } from '../arguments';
import type { Command } from '../command';
import { printable } from '../table';
import { noJournal } from './faults';
import { readJournal } from './read';
import { reportJson, reportLines } from './report';

const DEFAULT_TOP = 10;
const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

export const journalCommand: Command = {
  name: 'journal',
  summary: 'A summary of journal files: outcomes, times by tenant and engine, slowest requests.',
  operands: '<file...>',
  flags: {
    since: { value: 'TIME', help: 'only requests from then on: 90s, 15m, 1h, 2d, or an ISO 8601 time' },
    top: { value: 'N', help: `how many slow requests to list (default: ${DEFAULT_TOP})` },
    json: { help: 'print the summary as JSON' },
  },
  notes: [
    'Reads files of any size without taking them into memory; percentiles are exact to 1 %. Rotated files may be',
    'given in any order, packed ones (.gz) as they are, and - is standard input. Lines that are no row are counted',
    'and skipped. Exit code: 0, 1 if a file cannot be read or none is a journal, 2 for a wrong command line.',
  ],
  examples: [
    ['narwhal journal narwhal-journal.jsonl', 'everything in one file'],
    ['narwhal journal --since 1h narwhal-journal.jsonl*', 'the last hour, rotated files included'],
    [
      'narwhal journal --json rows.jsonl | jq \'.outcomes[] | select(.terminal == "failed")\'',
      'for a script',
    ],
  ],
  async run(given) {
    if (given.operands.length === 0) throw new UsageError('needs the path of a journal file');
    const since = sinceOf(given.text('since'), Date.now());
    const top = given.number('top', { min: 0, max: 1000, whole: true }) ?? DEFAULT_TOP;
    const result = await readJournal(given.operands, since, top);
    const nothing = noJournal(result);
    if (nothing !== null) {
      console.error(`narwhal: ${printable(nothing)}`);
      return 1;
    }
    console.log(
      given.has('json') ? JSON.stringify(reportJson(result), null, 2) : reportLines(result).join('\n'),
    );
    return 0;
  },
};

/**
 * @param now ms since 1970.
 * @returns ms since 1970, or null where nothing was given.
 * @throws {UsageError} for a text that is no time.
 */
export function sinceOf(text: string | null, now: number): number | null {
  if (text === null) return null;
  const [, number, unit] = /^(\d+(?:\.\d+)?)([smhd])$/.exec(text) ?? [];
  if (number !== undefined) return now - Number(number) * UNITS[unit!]! * 1000;
  const at = /^\d{4}-\d{2}-\d{2}(?:T[\d:.]+(?:Z|[+-]\d{2}:?\d{2})?)?$/.test(text)
    ? Date.parse(text)
    : Number.NaN;
  if (!Number.isNaN(at)) return at;
  throw new UsageError('--since must be a time such as 90s, 15m, 1h, 2d or 2026-05-01T08:00:00Z');
}
