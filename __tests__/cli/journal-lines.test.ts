/** Lines of files, a piece at a time. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { inOrder, readLines } from '../../lib/cli/journal/lines';
import { tempFolder } from './narwhal';

const MIB = 1024 * 1024;

async function linesOf(bytes: Buffer | string, name = 'rows.jsonl') {
  const path = join(tempFolder(), name);
  writeFileSync(path, bytes);
  const lines: string[] = [];
  let tail: string | null = null;
  let dropped = 0;
  for await (const batch of readLines(path)) {
    lines.push(...batch.lines.map(String));
    tail = batch.tail === null ? tail : String(batch.tail);
    dropped += batch.dropped;
  }
  return { lines, tail, dropped };
}

describe('reading lines', () => {
  test('keeps empty lines, and tells what follows the last line end', async () => {
    expect(await linesOf('a\n\nb\nhalf')).toEqual({ lines: ['a', '', 'b'], tail: 'half', dropped: 0 });
    expect(await linesOf('a\n')).toEqual({ lines: ['a'], tail: null, dropped: 0 });
    expect(await linesOf('')).toEqual({ lines: [], tail: null, dropped: 0 });
  });

  test('joins lines and characters that lie across two pieces of the file', async () => {
    // 3 bytes each: no power of two divides evenly.
    const texts = Array.from({ length: 7 }, (_, at) => '\u6f6e'.repeat(150_000 + at));
    expect((await linesOf(`${texts.join('\n')}\n`)).lines).toEqual(texts);
  });

  test('drops a line without an end in sight, and goes on behind it', async () => {
    const long = Buffer.alloc(10 * MIB, 'x');
    const result = await linesOf(Buffer.concat([Buffer.from('a\n'), long, Buffer.from('\nb\n')]));
    expect(result).toEqual({ lines: ['a', 'b'], tail: null, dropped: 1 });
    expect(await linesOf(long)).toEqual({ lines: [], tail: null, dropped: 1 });
  });

  test('unpacks a .gz file', async () => {
    expect((await linesOf(gzipSync('a\nb\n'), 'rows.jsonl.1.gz')).lines).toEqual(['a', 'b']);
  });

  test('fails for a file that is missing, packed or not', async () => {
    for (const name of ['none', 'none.gz']) {
      await expect(readLines(join(tempFolder(), name)).next()).rejects.toThrow('ENOENT');
    }
  });
});

describe('rotated files', () => {
  test('are read oldest first, each journal in the place where it was named first', () => {
    expect(inOrder(['a/r.jsonl', 'b.jsonl', 'a/r.jsonl.1', 'a/r.jsonl.10', 'a/r.jsonl.2.gz'])).toEqual([
      'a/r.jsonl.10',
      'a/r.jsonl.2.gz',
      'a/r.jsonl.1',
      'a/r.jsonl',
      'b.jsonl',
    ]);
  });
});
