/** A second, naive reading of the event stream rules, to compare the reader with. */
import { SseReader } from '../../lib/serving/sse';

export interface Reading {
  readonly events: string[];
  readonly rest: string | null;
}

/** Reads a whole stream at once; texts are one character a byte. */
export function readNaively(bytes: Buffer): Reading {
  const text = bytes.toString('latin1').replace(/^\xef\xbb\xbf/, '');
  const lines = text.split(/\r\n|\n|\r/);
  const unfinished = lines.pop()!;
  const events: string[] = [];
  let data: string[] = [];
  const field = (line: string): void => {
    const [, name, value] = /^([^:]*):? ?(.*)$/s.exec(line)!;
    if (name === 'data') data.push(line.includes(':') ? value! : '');
  };
  for (const line of lines) {
    if (line !== '') {
      field(line);
      continue;
    }
    if (data.length > 0) events.push(data.join('\n'));
    data = [];
  }
  field(unfinished);
  return { events, rest: data.length > 0 ? data.join('\n') : null };
}

export interface Delivered {
  readonly data: string;
  readonly frame: string | null;
}

/** Feeds the chunks to a reader and keeps what it delivers. */
export function readChunks(
  chunks: readonly Buffer[],
  maxEventBytes = 1 << 20,
): Reading & { delivered: Delivered[] } {
  const delivered: Delivered[] = [];
  const reader = new SseReader(
    {
      event(data, frame) {
        delivered.push({
          data: data.toString('latin1'),
          frame: frame === null ? null : frame.toString('latin1'),
        });
      },
    },
    { maxEventBytes },
  );
  for (const chunk of chunks) reader.push(chunk);
  const rest = reader.end();
  return {
    delivered,
    events: delivered.map(({ data }) => data),
    rest: rest === null ? null : rest.toString('latin1'),
  };
}

/** Cuts bytes at the given places, in any order, doubles allowed. */
export function cutAt(bytes: Buffer, places: readonly number[]): Buffer[] {
  const sorted = [
    0,
    ...places.map((place) => place % (bytes.length + 1)).sort((a, b) => a - b),
    bytes.length,
  ];
  return sorted.slice(1).map((end, i) => Buffer.from(bytes.subarray(sorted[i]!, end)));
}

export function byteByByte(bytes: Buffer): Buffer[] {
  return Array.from(bytes, (byte) => Buffer.from([byte]));
}
