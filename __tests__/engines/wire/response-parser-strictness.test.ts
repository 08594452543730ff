/** Answers that could be taken for others are refused, and no message repeats what they held. */
import { byteByByte, Listener } from './listener';

const OK = 'HTTP/1.1 200 OK\r\n';
const CHUNKED = `${OK}transfer-encoding: chunked\r\n\r\n`;
const CANARY = 'canary7c1d';

function latin(text: string): Buffer {
  return Buffer.from(text, 'latin1');
}

/** @returns the message of the refusal; null where all was taken. */
function refusal(pieces: readonly Buffer[]): string | null {
  const listener = new Listener();
  listener.expect();
  try {
    for (const piece of pieces) listener.read(piece);
    return null;
  } catch (error) {
    expect((error as Error).name).toBe('ResponseError');
    return (error as Error).message;
  }
}

const STATUS_LINE = 'no HTTP/1.1 status line';
const FIELD = 'a header line that is none';
const LENGTH = 'a content length that is none';
const CODING = 'an unknown transfer encoding';
const CRLF = 'a chunk, or a line of it, that does not end in CRLF where it should';
const SIZE = 'a chunk size that is none';

/** Found in a head that is not whole yet, or in one that is. */
const BARE = /^(a bare line feed in a head|a header line that is none|no HTTP\/1\.1 status line)$/;

const REFUSED: [string, string, string | RegExp][] = [
  ['two different lengths', `${OK}content-length: 1\r\ncontent-length: 2\r\n\r\n`, LENGTH],
  ['a length stated twice', `${OK}content-length: 1\r\nContent-Length: 1\r\n\r\n`, LENGTH],
  ['a list of lengths', `${OK}content-length: 1, 1\r\n\r\n`, LENGTH],
  [
    'a length and chunks',
    `${OK}content-length: 1\r\ntransfer-encoding: chunked\r\n\r\n`,
    'a body with two lengths',
  ],
  [
    'chunks and a length',
    `${OK}transfer-encoding: chunked\r\ncontent-length: 1\r\n\r\n`,
    'a body with two lengths',
  ],
  ['a negative length', `${OK}content-length: -1\r\n\r\n`, LENGTH],
  ['a signed length', `${OK}content-length: +1\r\n\r\n`, LENGTH],
  ['a hexadecimal length', `${OK}content-length: 0x1\r\n\r\n`, LENGTH],
  ['a length with a fraction', `${OK}content-length: 1.0\r\n\r\n`, LENGTH],
  ['an empty length', `${OK}content-length:\r\n\r\n`, LENGTH],
  ['a length with a vertical tab', `${OK}content-length: 1\v\r\n\r\n`, LENGTH],
  ['a length that no number holds', `${OK}content-length: 9007199254740993\r\n\r\n`, LENGTH],
  ['a coding that is not known', `${OK}transfer-encoding: gzip\r\n\r\n`, CODING],
  ['chunks behind another coding', `${OK}transfer-encoding: gzip, chunked\r\n\r\n`, CODING],
  ['chunks in chunks', `${OK}transfer-encoding: chunked, chunked\r\n\r\n`, CODING],
  ['chunks stated twice', `${OK}transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n`, CODING],
  ['a coding hidden behind a tab', `${OK}transfer-encoding: \vchunked\r\n\r\n`, CODING],
  ['an empty coding', `${OK}transfer-encoding:\r\n\r\n`, CODING],
  ['a bare line feed behind the status', 'HTTP/1.1 200 OK\ncontent-length: 0\r\n\r\n', BARE],
  ['a head of bare line feeds', 'HTTP/1.1 200 OK\ncontent-length: 0\n\n', BARE],
  ['a bare line feed in a field', `${OK}a: b\nc: d\r\n\r\n`, BARE],
  ['a bare carriage return in a field', `${OK}a: b\rc: d\r\n\r\n`, FIELD],
  ['a carriage return too many', `${OK}a: b\r\r\n\r\n`, FIELD],
  ['a folded field', `${OK}a: b\r\n c\r\n\r\n`, FIELD],
  ['a folded first field', `${OK} a: b\r\n\r\n`, FIELD],
  ['a blank before the colon', `${OK}content-length : 5\r\n\r\n`, FIELD],
  ['a tab before the colon', `${OK}content-length\t: 5\r\n\r\n`, FIELD],
  ['a line without a colon', `${OK}content-length\r\n\r\n`, FIELD],
  ['a field without a name', `${OK}: 5\r\n\r\n`, FIELD],
  ['a name that is no token', `${OK}(a): 5\r\n\r\n`, FIELD],
  ['NUL in a value', `${OK}a: b\0c\r\n\r\n`, FIELD],
  ['NUL in a name', `${OK}a\0: b\r\n\r\n`, FIELD],
  ['NUL in the reason', 'HTTP/1.1 200 O\0K\r\n\r\n', STATUS_LINE],
  [
    'a switch of protocols',
    'HTTP/1.1 101 Switching Protocols\r\nupgrade: h2c\r\n\r\n',
    'a switch of protocols that nobody asked for',
  ],
  ['the frames of HTTP/2', '\0\0\x12\x04\0\0\0\0\0\0\x03\0\0\0\x64', STATUS_LINE],
  ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', STATUS_LINE],
  ['HTTP/2 in words', 'HTTP/2 200\r\n\r\n', STATUS_LINE],
  ['HTTP/0.9', '<html>hello', STATUS_LINE],
  ['another protocol', 'SSH-2.0-OpenSSH_9.6\r\n', STATUS_LINE],
  ['TLS where none was asked for', '\x15\x03\x01\0\x02\x02\x46', STATUS_LINE],
  ['small letters', 'http/1.1 200 OK\r\n\r\n', STATUS_LINE],
  ['a request', 'GET / HTTP/1.1\r\n\r\n', STATUS_LINE],
  ['an empty line first', `\r\n${OK}content-length: 0\r\n\r\n`, STATUS_LINE],
  ['a status of two digits', 'HTTP/1.1 20 OK\r\n\r\n', STATUS_LINE],
  ['a status of four digits', 'HTTP/1.1 2000 OK\r\n\r\n', STATUS_LINE],
  ['a status below 100', 'HTTP/1.1 099 OK\r\n\r\n', STATUS_LINE],
  ['two blanks before the status', 'HTTP/1.1  200 OK\r\n\r\n', STATUS_LINE],
  ['a bad head behind an interim one', `HTTP/1.1 100 Continue\r\n\r\n${CANARY}\r\n\r\n`, STATUS_LINE],
  ['a chunk without a size', `${CHUNKED}\r\n`, 'a chunk without a size'],
  ['a chunk with an extension alone', `${CHUNKED};a=b\r\n`, 'a chunk without a size'],
  ['a negative chunk', `${CHUNKED}-1\r\n`, 'a chunk without a size'],
  ['a chunk size with a prefix', `${CHUNKED}0x5\r\nhello\r\n`, SIZE],
  ['a chunk size that is no number', `${CHUNKED}5g\r\nhello\r\n`, SIZE],
  ['two chunk sizes', `${CHUNKED}5 5\r\nhello\r\n`, SIZE],
  ['a huge chunk', `${CHUNKED}100000000\r\n`, 'a chunk size that is too large'],
  ['a chunk as huge as 64 bits', `${CHUNKED}ffffffffffffffff\r\n`, 'a chunk size that is too large'],
  ['a size that ends in a bare line feed', `${CHUNKED}5\nhello\r\n`, SIZE],
  ['a size that ends in a bare carriage return', `${CHUNKED}5\rhello\r\n`, CRLF],
  [
    'an extension that ends in a bare line feed',
    `${CHUNKED}5;a\nhello\r\n`,
    'a bare line feed in a chunked body',
  ],
  ['a carriage return in an extension', `${CHUNKED}5;a\rb\r\nhello\r\n`, CRLF],
  ['a chunk that is longer than its size', `${CHUNKED}4\r\nhello\r\n`, CRLF],
  ['a chunk that ends in a bare line feed', `${CHUNKED}5\r\nhello\n0\r\n\r\n`, CRLF],
  ['a chunk that ends in a bare carriage return', `${CHUNKED}5\r\nhello\r0\r\n\r\n`, CRLF],
  ['an end of bare line feeds', `${CHUNKED}0\r\n\n`, 'a bare line feed in a chunked body'],
  ['an end of carriage returns', `${CHUNKED}0\r\n\r\r\n`, CRLF],
  [
    'a trailer that ends in a bare line feed',
    `${CHUNKED}0\r\na: b\n\r\n`,
    'a bare line feed in a chunked body',
  ],
  ['a carriage return in a trailer', `${CHUNKED}0\r\na: b\rc\r\n\r\n`, CRLF],
];

describe.each([
  ['in one read', (bytes: Buffer) => [bytes]],
  ['byte by byte', byteByByte],
] as const)('%s', (_name, cut) => {
  test.each(REFUSED)('%s is refused', (_what, text, message) => {
    const said = refusal(cut(latin(text)));
    if (typeof message === 'string') expect(said).toBe(message);
    else expect(said).toMatch(message);
  });

  test('no message repeats the bytes', () => {
    for (const [, text] of REFUSED) {
      const marked = text
        .replace(/OK|hello|a: b/, CANARY)
        .replace('content-length: ', `content-length: ${CANARY}`);
      const message = refusal(cut(latin(marked)));
      expect(message).not.toBeNull();
      expect(message).not.toContain(CANARY);
    }
  });

  test.each([
    [
      'a head',
      'a head of more than 64 KiB',
      (n: number) => `${OK}a: ${'x'.repeat(n - OK.length - 3)}\r\n\r\n`,
    ],
    [
      'the extensions of a chunk',
      'chunk extensions or trailers of more than 64 KiB',
      (n: number) => `${CHUNKED}5;${'x'.repeat(n)}\r\nhello\r\n5;${'x'.repeat(n)}\r\nhello\r\n0\r\n\r\n`,
    ],
    [
      'the trailers together',
      'chunk extensions or trailers of more than 64 KiB',
      (n: number) => `${CHUNKED}0\r\n${'a: b\r\n'.repeat(100)}${'x'.repeat(n - 400)}\r\n\r\n`,
    ],
  ])('%s may have 64 KiB and not a byte more', (_what, message, make) => {
    // Byte by byte would be slow in that size; the end is what matters.
    const pieces = (text: string): Buffer[] => [latin(text.slice(0, -12)), ...cut(latin(text.slice(-12)))];
    expect(refusal(pieces(make(65536)))).toBeNull();
    expect(refusal(pieces(make(65537)))).toBe(message);
  });

  test('a head that never ends is refused once it is too long', () => {
    const listener = new Listener();
    listener.expect();
    listener.read(latin(OK));
    expect(() => {
      for (let i = 0; i < 70; i++) listener.read(latin(`a: ${'x'.repeat(995)}\r\n`));
    }).toThrow('a head of more than 64 KiB');
  });
});

test('many small extensions in one long answer are no fault', () => {
  const chunk = `5;${'x'.repeat(100)}\r\nhello\r\n`;
  const listener = new Listener();
  listener.expect();
  listener.read(latin(CHUNKED + chunk.repeat(2000)));
  listener.read(latin('0\r\n\r\n'));
  expect(listener.answers[0]!.body.length).toBe(10_000);
});

test('a line that is no field is refused in no time, however many blanks it has', () => {
  const began = process.cpuUsage().user;
  for (let i = 0; i < 5; i++) expect(refusal([latin(`${OK}a:${' '.repeat(60_000)}\0\r\n\r\n`)])).toBe(FIELD);
  // Tried in as many ways as there are blanks, each takes seconds.
  expect(process.cpuUsage().user - began).toBeLessThan(2e6);
});

describe('what becomes of the connection', () => {
  const CASES: [string, string, boolean][] = [
    ['HTTP/1.1', `${OK}content-length: 0\r\n\r\n`, true],
    ['HTTP/1.1 that closes', `${OK}connection: close\r\ncontent-length: 0\r\n\r\n`, false],
    [
      'HTTP/1.1 that closes in its second line',
      `${OK}connection: keep-alive\r\nConnection: CLOSE\r\ncontent-length: 0\r\n\r\n`,
      false,
    ],
    ['HTTP/1.0', 'HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n', false],
    ['HTTP/1.0 that stays', 'HTTP/1.0 200 OK\r\nconnection: Keep-Alive\r\ncontent-length: 0\r\n\r\n', true],
    [
      'HTTP/1.0 that stays and closes',
      'HTTP/1.0 200 OK\r\nconnection: keep-alive, close\r\ncontent-length: 0\r\n\r\n',
      false,
    ],
    [
      'chunks of HTTP/1.0',
      'HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
      false,
    ],
    ['a 204', 'HTTP/1.1 204 No Content\r\n\r\n', true],
    ['a 204 without length', 'HTTP/1.1 204 No Content\r\ncontent-length: 0\r\n\r\n', true],
    ['a 204 that announces a body', 'HTTP/1.1 204 No Content\r\ncontent-length: 5\r\n\r\n', false],
    ['a 204 that announces chunks', 'HTTP/1.1 204 No Content\r\ntransfer-encoding: chunked\r\n\r\n', false],
    [
      'a 304 with the length of what it stands for',
      'HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\n\r\n',
      true,
    ],
  ];

  test.each(CASES)('%s: it is told whether it may be used again', (_what, text, reusable) => {
    const listener = new Listener();
    listener.expect();
    listener.read(latin(text));
    expect(listener.answers.map((answer) => answer.reusable)).toEqual([reusable]);
  });
});

test('fields are told by their small names, the first of several, and those of every object too', () => {
  const listener = new Listener();
  listener.expect();
  listener.read(
    latin(
      `${OK}X-A: one\r\nx-a: two\r\nconstructor: c\r\n__proto__: p\r\nx-n: caf\xc3\xa0\r\ncontent-length: 0\r\n\r\n`,
    ),
  );
  const { headers } = listener.answers[0]!;
  expect(Object.entries(headers)).toEqual([
    ['x-a', 'one'],
    ['constructor', 'c'],
    ['__proto__', 'p'],
    ['x-n', 'caf\xc3\xa0'],
    ['content-length', '0'],
  ]);
});
