/** Any good answer, cut in any way, is heard as it was made. */
import fc from 'fast-check';
import { byteByByte, cutAt, Listener } from './listener';

interface Made {
  readonly bytes: Buffer;
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: Buffer;
  readonly reusable: boolean;
  readonly endsByClose: boolean;
}

const latin = (text: string): Buffer => Buffer.from(text, 'latin1');

const TOKEN = "!#$%&'*+.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-";
const token = fc.string({ unit: fc.constantFrom(...TOKEN), minLength: 1, maxLength: 10 });
/** Characters of a value: also tabs, colons and the bytes above 127, no-break space among them. */
const value = fc
  .string({ unit: fc.constantFrom(...'abz 09:;,"\t', '\x80', '\xa0', '\xc3', '\xff'), maxLength: 12 })
  .map((text) => text.replace(/^[ \t]+|[ \t]+$/g, ''));
const blanks = fc.constantFrom('', ' ', '  ', '\t', ' \t ');
const field = fc
  .tuple(token, blanks, value, blanks)
  // Not the names that frame an answer, and each name once.
  .map(([name, before, text, behind]) => ({
    name: `x-${name}`,
    text,
    line: `x-${name}:${before}${text}${behind}\r\n`,
  }));
const fields = fc.uniqueArray(field, { maxLength: 5, selector: ({ name }) => name.toLowerCase() });
const interim = fc
  .tuple(fc.constantFrom(100, 102, 103, 199), fields)
  .map(([status, list]) => `HTTP/1.1 ${status} Early\r\n${list.map(({ line }) => line).join('')}\r\n`);
const body = fc.uint8Array({ maxLength: 120 }).map((bytes) => Buffer.from(bytes));
/** Bodies that look like what frames them. */
const trap = fc.constantFrom('\r\n\r\n', '0\r\n\r\n', 'HTTP/1.1 200 OK\r\n\r\n', '\r\n').map(latin);
const anyBody = fc.oneof({ weight: 3, arbitrary: body }, { weight: 1, arbitrary: trap });

const extension = fc.constantFrom('', ';a', ';a=b', '; a = "b;c"', ' ;x', '\t', '  ', ';\x80\xff');
const trailers = fc.constantFrom('', 'x-t: 1\r\n', 'x-t:\r\nx-u: two words\r\n');

/** A body as chunks: cut at the places, sizes in either case with zeros in front. */
function chunked(bytes: Buffer, cuts: number[], behindSize: string[], zeros: string, upper: boolean): Buffer {
  const parts: Buffer[] = [];
  const size = (length: number): string => {
    const hex = zeros + length.toString(16);
    return upper ? hex.toUpperCase() : hex;
  };
  for (const [i, piece] of cutAt(bytes, cuts).entries()) {
    if (piece.length === 0) continue;
    parts.push(latin(`${size(piece.length)}${behindSize[i % behindSize.length]}\r\n`), piece, latin('\r\n'));
  }
  return Buffer.concat([...parts, latin(`${size(0)}${behindSize[0]}\r\n`)]);
}

const framed = fc.oneof(
  anyBody.map((bytes) => ({
    status: 200,
    frame: `content-length: ${bytes.length}`,
    wire: bytes,
    body: bytes,
  })),
  fc
    .tuple(
      anyBody,
      fc.array(fc.nat(120), { maxLength: 5 }),
      fc.array(extension, { minLength: 1, maxLength: 4 }),
      fc.constantFrom('', '0', '000'),
      fc.boolean(),
      trailers,
    )
    .map(([bytes, cuts, behindSize, zeros, upper, rest]) => ({
      status: 200,
      frame: 'Transfer-Encoding: Chunked',
      wire: Buffer.concat([chunked(bytes, cuts, behindSize, zeros, upper), latin(`${rest}\r\n`)]),
      body: bytes,
    })),
  fc.constantFrom(204, 304).map((status) => ({
    status,
    frame: status === 304 ? 'content-length: 77' : '',
    wire: latin(''),
    body: latin(''),
  })),
);

const answer: fc.Arbitrary<Made> = fc
  .tuple(
    fc.array(interim, { maxLength: 2 }),
    fc.constantFrom(200, 201, 299, 400, 503, 999),
    fields,
    framed,
    fc.constantFrom(' OK', ' ', '', ' Not \xe4 word'),
    fc.constantFrom('', 'connection: close', 'Connection: Keep-Alive', 'connection: x, Close'),
    fc.boolean(),
  )
  .map(([early, code, list, { status: framing, frame, wire, body: whole }, reason, connection, isFirst]) => {
    const status = framing === 200 ? code : framing;
    const own = [frame, connection].filter((line) => line !== '').map((line) => `${line}\r\n`);
    const lines = list.map(({ line }) => line);
    const head = [...(isFirst ? own : []), ...lines, ...(isFirst ? [] : own)].join('');
    return {
      bytes: Buffer.concat([latin(`${early.join('')}HTTP/1.1 ${status}${reason}\r\n${head}\r\n`), wire]),
      status,
      headers: Object.fromEntries(list.map(({ name, text }) => [name.toLowerCase(), text])),
      body: whole,
      reusable: !/close/i.test(connection),
      endsByClose: false,
    };
  });

const lastAnswer: fc.Arbitrary<Made> = fc
  .tuple(fields, anyBody, fc.constantFrom('1.0', '1.1'))
  .map(([list, bytes, version]) => ({
    bytes: Buffer.concat([
      latin(`HTTP/${version} 200 OK\r\n${list.map(({ line }) => line).join('')}\r\n`),
      bytes,
    ]),
    status: 200,
    headers: Object.fromEntries(list.map(({ name, text }) => [name.toLowerCase(), text])),
    body: bytes,
    reusable: false,
    endsByClose: true,
  }));

const connection = fc
  .tuple(fc.array(answer, { minLength: 1, maxLength: 4 }), fc.option(lastAnswer, { nil: null }))
  // Each twice: an engine that says the same again.
  .map(([answers, last]) => [...answers.flatMap((one) => [one, one]), ...(last === null ? [] : [last])]);
const places = fc.array(fc.nat(600), { maxLength: 10 });

function check(made: readonly Made[], cut: (bytes: Buffer) => Buffer[]): void {
  const listener = new Listener();
  for (const [i, one] of made.entries()) {
    listener.expect();
    for (const piece of cut(one.bytes)) listener.read(piece);
    if (one.endsByClose) {
      expect(listener.answers).toHaveLength(i);
      expect(listener.end()).toBe(true);
    }
    const heard = listener.answers[i]!;
    expect(listener.answers).toHaveLength(i + 1);
    expect(heard.status).toBe(one.status);
    expect(heard.headers).toMatchObject(one.headers);
    expect(heard.body.equals(one.body)).toBe(true);
    expect(heard.reusable).toBe(one.reusable);
    expect(heard.mostPiecesInARead).toBeLessThanOrEqual(1);
  }
  expect(listener.end()).toBe(true);
}

test('any answers of one connection with any cuts are heard as they were made', () => {
  fc.assert(
    fc.property(connection, places, (made, cuts) => {
      for (const cut of [(bytes: Buffer) => [bytes], (bytes: Buffer) => cutAt(bytes, cuts), byteByByte])
        check(made, cut);
    }),
    { numRuns: 300 },
  );
});

test('a body is heard as far as it has come, and its end before the bytes are there is none', () => {
  fc.assert(
    fc.property(answer, fc.nat(1000), (made, at) => {
      const listener = new Listener();
      listener.expect();
      const cut = at % made.bytes.length;
      listener.read(made.bytes.subarray(0, cut));
      expect(listener.answers).toEqual([]);
      const body = listener.unfinished?.body ?? latin('');
      expect(made.body.subarray(0, body.length).equals(body)).toBe(true);
      expect(listener.end()).toBe(false);
    }),
    { numRuns: 600 },
  );
});

test('bytes behind an answer are refused, however the answer was cut', () => {
  fc.assert(
    fc.property(
      answer,
      places,
      fc.uint8Array({ minLength: 1, maxLength: 5 }),
      fc.boolean(),
      (made, cuts, more, apart) => {
        const listener = new Listener();
        listener.expect();
        const pieces = cutAt(made.bytes, cuts);
        if (!apart) pieces[pieces.length - 1] = Buffer.concat([pieces.at(-1)!, more]);
        else pieces.push(Buffer.from(more));
        expect(() => {
          for (const piece of pieces) listener.read(piece);
        }).toThrow('bytes that belong to no answer');
        expect(listener.answers.map(({ body: heard }) => heard.equals(made.body))).toEqual([true]);
      },
    ),
    { numRuns: 300 },
  );
});

test('bytes of no meaning are refused or waited on, and no message repeats them', () => {
  const noise = fc
    .array(
      fc.constantFrom(
        ...Buffer.from('HTTP/1.1 200 OK\r\n\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n'),
        0,
        255,
      ),
      {
        maxLength: 80,
      },
    )
    .map((bytes) => Buffer.from(bytes));
  fc.assert(
    fc.property(
      fc.oneof(
        noise,
        fc.tuple(answer, noise).map(([{ bytes }, more]) => Buffer.concat([bytes, more])),
      ),
      places,
      (bytes, cuts) => {
        const listener = new Listener();
        listener.expect();
        try {
          for (const piece of cutAt(bytes, cuts)) listener.read(piece);
        } catch (error) {
          expect((error as Error).name).toBe('ResponseError');
          expect((error as Error).message).toMatch(/^[A-Za-z0-9 ,/.]+$/);
        }
      },
    ),
    { numRuns: 2000 },
  );
});
