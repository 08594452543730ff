import fc from 'fast-check';
import { byteByByte, cutAt, readChunks, readNaively } from './sse-reference';

const lineEnd = fc.constantFrom('\n', '\r\n', '\r');
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 8 }).map((value) => value.replace(/[\r\n]/g, '')),
  fc.constantFrom('{"a":1}', '[DONE]', '', ' ', '\u4f60\u597d', '\u{1f40b}'),
);
const line = fc.oneof(
  fc
    .tuple(fc.constantFrom('data: ', 'data:', 'data', ': ', 'event: ', 'id:', 'dat', ''), text)
    .map(([a, b]) => a + b),
  fc.constant(''),
  text.map((value) => `data: ${value}`),
);
const stream = fc
  .tuple(fc.constantFrom('', '', '\ufeff'), fc.array(fc.tuple(line, lineEnd), { maxLength: 12 }), line)
  .map(([mark, lines, last]) => Buffer.from(mark + lines.map(([a, b]) => a + b).join('') + last));
/** Bytes of no meaning, rich in those that matter. */
const noise = fc
  .array(fc.constantFrom(...Buffer.from('data: x\r\n\r\n\n\ndata:'), 0xef, 0xbb, 0xbf), { maxLength: 60 })
  .map((bytes) => Buffer.from(bytes));
const places = fc.array(fc.nat(400), { maxLength: 8 });

test('any stream with any cuts gives the events of a naive reading of the whole', () => {
  fc.assert(
    fc.property(fc.oneof(stream, noise), places, (bytes, cuts) => {
      const expected = readNaively(bytes);
      for (const chunks of [[bytes], cutAt(bytes, cuts), byteByByte(bytes)]) {
        const { events, rest } = readChunks(chunks);
        expect({ events, rest }).toEqual(expected);
      }
    }),
    { numRuns: 2000 },
  );
});

test('a frame is the normal form of its data, and bytes of the stream', () => {
  fc.assert(
    fc.property(fc.oneof(stream, noise), places, (bytes, cuts) => {
      for (const { data, frame } of readChunks(cutAt(bytes, cuts)).delivered) {
        if (frame === null) continue;
        expect(frame).toBe(`data: ${data}\n\n`);
        expect(bytes.toString('latin1')).toContain(frame);
      }
    }),
    { numRuns: 1000 },
  );
});

test('every event of a stream in normal form has its frame when it was not cut', () => {
  fc.assert(
    fc.property(fc.array(text, { minLength: 1, maxLength: 6 }), (values) => {
      const frames = values.map((value) => `data: ${value}\n\n`);
      const { delivered } = readChunks([Buffer.from(frames.join(''))]);
      expect(delivered.map(({ frame }) => frame)).toEqual(
        frames.map((f) => Buffer.from(f).toString('latin1')),
      );
    }),
  );
});
