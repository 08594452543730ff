import { SseLimitError, SseReader } from '../../lib/serving/sse';
import { byteByByte, readChunks } from './sse-reference';

const read = (text: string) => readChunks([Buffer.from(text)]);
const eventsOf = (text: string) => read(text).events;

describe('SseReader', () => {
  test.each([
    ['LF', 'data: a\n\ndata: b\n\n'],
    ['CR LF', 'data: a\r\n\r\ndata: b\r\n\r\n'],
    ['CR', 'data: a\r\rdata: b\r\r'],
    ['a mix', 'data: a\r\n\ndata: b\n\r\n'],
  ])('ends lines at %s', (_, text) => {
    expect(eventsOf(text)).toEqual(['a', 'b']);
    expect(readChunks(byteByByte(Buffer.from(text))).events).toEqual(['a', 'b']);
  });

  test.each([
    ['a field without its space', 'data:x\n\n', ['x']],
    ['only the first of two spaces taken off', 'data:  x\n\n', [' x']],
    ['a data line without a colon', 'data\n\n', ['']],
    ['a data line without a value', 'data:\n\n', ['']],
    ['several data lines', 'data: a\ndata:b\ndata\ndata: c\n\n', ['a\nb\n\nc']],
    [
      'comments and other fields',
      ': warm\nevent: e\nid: 7\nretry: 1\nfoo\ndata: a\n:x\n\n: y\n\ndata: b\n\n',
      ['a', 'b'],
    ],
    ['names that only begin with data', 'database: a\ndat: b\ndata-x\nd\n\ndata: c\n\n', ['c']],
    ['a name with a leading space', ' data: a\n\n', []],
    ['events without data', 'event: ping\n\n\n\n: only\n\n', []],
    ['a byte order mark', '\ufeffdata: a\n\n', ['a']],
    ['a second byte order mark', '\ufeff\ufeffdata: a\n\ndata: b\n\n', ['b']],
    ['many blank lines', '\n\ndata: a\n\n\n\ndata: b\n\n', ['a', 'b']],
    ['a colon in the value', 'data: {"a":":"}\n\n', ['{"a":":"}']],
  ])('reads %s', (_, text, expected) => {
    expect(eventsOf(text)).toEqual(expected);
    expect(readChunks(byteByByte(Buffer.from(text))).events).toEqual(expected);
  });

  test('delivers an event with CR LF ends as soon as its blank line begins', () => {
    const seen: string[] = [];
    const reader = new SseReader({ event: (data) => seen.push(data.toString()) }, { maxEventBytes: 100 });
    reader.push(Buffer.from('data: a\r\n\r'));
    expect(seen).toEqual(['a']);
    reader.push(Buffer.from('\ndata: b\n\n'));
    expect(seen).toEqual(['a', 'b']);
  });

  test('does not take the line feed of a CR LF that was cut for a blank line', () => {
    expect(
      readChunks([Buffer.from('data: a\r'), Buffer.from('\ndata: b\r'), Buffer.from('\n\r\n')]).events,
    ).toEqual(['a\nb']);
  });

  test('keeps a character whole whose bytes come in two chunks', () => {
    const bytes = Buffer.from('data: gr\u00fc\u00df \u{1f40b}\n\n');
    for (let cut = 0; cut <= bytes.length; cut++) {
      const seen: string[] = [];
      const reader = new SseReader({ event: (data) => seen.push(data.toString()) }, { maxEventBytes: 100 });
      reader.push(bytes.subarray(0, cut));
      reader.push(bytes.subarray(cut));
      expect(seen).toEqual(['gr\u00fc\u00df \u{1f40b}']);
    }
  });

  test('takes a broken byte order mark for the name of an unknown field', () => {
    expect(readChunks([Buffer.from([0xef, 0xbb]), Buffer.from('data: a\ndata: b\n\n')]).events).toEqual([
      'b',
    ]);
  });
});

describe('the frame of an event', () => {
  const deliver = (text: string) => read(text).delivered;

  test('is the bytes of an event in normal form', () => {
    expect(deliver('data: a\n\ndata: bc\n\n')).toEqual([
      { data: 'a', frame: 'data: a\n\n' },
      { data: 'bc', frame: 'data: bc\n\n' },
    ]);
  });

  test('is found after a comment or another field, and for empty data', () => {
    expect(deliver(': c\ndata: a\n\nid: 1\ndata: \n\n')).toEqual([
      { data: 'a', frame: 'data: a\n\n' },
      { data: '', frame: 'data: \n\n' },
    ]);
  });

  test.each([
    ['without a space', 'data:a\n\n'],
    ['with CR LF', 'data: a\r\n\r\n'],
    ['with one CR at its end', 'data: a\n\r\n'],
    ['of two lines', 'data: a\ndata: b\n\n'],
    ['with a field behind the data', 'data: a\nid: 1\n\n'],
  ])('is null for an event %s', (_, text) => {
    expect(deliver(text).map(({ frame }) => frame)).toEqual([null]);
  });

  test('is null for an event that was cut, wherever it was cut', () => {
    const text = 'data: abc\n\n';
    for (let cut = 1; cut < text.length; cut++) {
      const { delivered } = readChunks([
        Buffer.from(text.slice(0, cut)),
        Buffer.from(`${text.slice(cut)}${text}`),
      ]);
      expect(delivered).toEqual([
        { data: 'abc', frame: null },
        { data: 'abc', frame: text },
      ]);
    }
  });

  test('is a part of the chunk itself, beside the frame of its neighbour', () => {
    const chunk = Buffer.from('data: a\n\ndata: b\n\n');
    const frames: Buffer[] = [];
    const reader = new SseReader({ event: (_, frame) => frames.push(frame!) }, { maxEventBytes: 10 });
    reader.push(chunk);
    expect(frames.map(({ buffer }) => buffer)).toEqual([chunk.buffer, chunk.buffer]);
    expect(frames[0]!.byteOffset).toBe(chunk.byteOffset);
    expect(frames[1]!.byteOffset).toBe(frames[0]!.byteOffset + frames[0]!.length);
  });
});

describe('the end of a stream', () => {
  test.each([
    ['a whole event', 'data: a\n\n', null],
    ['nothing', '', null],
    ['an event without its blank line', 'data: [DONE]\n', '[DONE]'],
    ['an event without its line end', 'data: [DONE]', '[DONE]'],
    ['two data lines', 'data: a\ndata: b', 'a\nb'],
    ['a bare field name', 'data', ''],
    ['a bare field name after data', 'data: a\ndata', 'a\n'],
    ['half a field name', 'dat', null],
    ['a longer field name', 'datax', null],
    ['a comment', ': x', null],
    ['data and a comment', 'data: a\n: x', 'a'],
  ])('hands back what is left of %s', (_, text, rest) => {
    expect(read(text).rest).toBe(rest);
  });

  test('comes once, and nothing is read after it', () => {
    const seen: string[] = [];
    const reader = new SseReader({ event: (data) => seen.push(data.toString()) }, { maxEventBytes: 10 });
    reader.push(Buffer.from('data: a\n'));
    expect(reader.end()?.toString()).toBe('a');
    expect(reader.end()).toBeNull();
    reader.push(Buffer.from('\ndata: b\n\n'));
    expect(seen).toEqual([]);
  });
});

describe('stopping a reader', () => {
  test('ends delivery within the chunk that is being read', () => {
    const seen: string[] = [];
    const reader = new SseReader(
      {
        event(data) {
          seen.push(data.toString());
          if (seen.length === 2) reader.stop();
        },
      },
      { maxEventBytes: 10 },
    );
    reader.push(Buffer.from('data: a\n\ndata:b\n\ndata: c\n\ndata:d\n\n'));
    reader.push(Buffer.from('data: e\n\n'));
    expect(seen).toEqual(['a', 'b']);
    expect(reader.end()).toBeNull();
  });

  test('is what an error of the sink does', () => {
    let calls = 0;
    const fault = new Error('sink');
    const reader = new SseReader(
      {
        event() {
          calls += 1;
          throw fault;
        },
      },
      { maxEventBytes: 10 },
    );
    expect(() => reader.push(Buffer.from('data: a\n\ndata: b\n\n'))).toThrow(fault);
    reader.push(Buffer.from('data: c\n\n'));
    expect(calls).toBe(1);
  });
});

describe('the event limit', () => {
  test.each([
    ['an event in normal form', 'data: 12345678\n\n', 'data: 123456789\n\n'],
    ['an event in another form', 'data:12345678\n\n', 'data:123456789\n\n'],
    ['data lines together with their line feeds', 'data: 123\ndata: 4567\n\n', 'data: 1234\ndata: 5678\n\n'],
  ])('counts the data of %s', (_, fits, exceeds) => {
    for (const chunks of [(t: string) => [Buffer.from(t)], (t: string) => byteByByte(Buffer.from(t))]) {
      expect(readChunks(chunks(fits), 8).events).toHaveLength(1);
      expect(readChunks(chunks(fits + fits), 8).events).toHaveLength(2);
      expect(() => readChunks(chunks(exceeds), 8)).toThrow(SseLimitError);
    }
  });

  test('holds for an event that never ends', () => {
    expect(() => readChunks([Buffer.from('data: 1234'), Buffer.from('56789')], 8)).toThrow(
      'an event of the stream is larger than 8 bytes',
    );
  });

  test('does not count comments, other fields and framing', () => {
    const noise = `: ${'x'.repeat(99)}\nid: ${'y'.repeat(99)}\n`;
    expect(readChunks(byteByByte(Buffer.from(`${noise}data: 12345678\n${noise}\n`)), 8).events).toEqual([
      '12345678',
    ]);
  });

  test('lets the events before the large one through, and none after it', () => {
    const seen: string[] = [];
    const reader = new SseReader({ event: (data) => seen.push(data.toString()) }, { maxEventBytes: 3 });
    expect(() => reader.push(Buffer.from('data: a\n\ndata: long\n\ndata: b\n\n'))).toThrow(SseLimitError);
    reader.push(Buffer.from('data: c\n\n'));
    expect(seen).toEqual(['a']);
  });
});

test('data that was delivered is not overwritten by later events', () => {
  const seen: Buffer[] = [];
  const reader = new SseReader({ event: (data) => seen.push(data) }, { maxEventBytes: 100 });
  for (const chunk of byteByByte(Buffer.from('data: first\n\ndata: other\n\n'))) reader.push(chunk);
  expect(seen.map(String)).toEqual(['first', 'other']);
});

test('a large event in small chunks is read in one pass', () => {
  // A reader that searched or copied its whole buffer again for each chunk would need minutes here.
  const body = 'y'.repeat(4 * 1024 * 1024);
  const bytes = Buffer.from(`data: ${body}\n\n`);
  const chunks: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += 16) chunks.push(bytes.subarray(at, at + 16));
  expect(readChunks(chunks, body.length).events[0]).toHaveLength(body.length);
});
