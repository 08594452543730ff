import zlib from 'node:zlib';
import { encodingOf, inflateBody } from '../../lib/request/content-encoding';
import { answer, listen, post, type TestServer } from './upload';

const LIMIT = 10_000;
const BODY = JSON.stringify({ prompt: 'once \u4f60 upon a time, '.repeat(50) });

const encoders: [header: string, encode: (bytes: Buffer) => Buffer][] = [
  ['gzip', zlib.gzipSync],
  ['x-gzip', zlib.gzipSync],
  ['GZip', zlib.gzipSync],
  ['deflate', zlib.deflateSync],
  ['deflate', zlib.deflateRawSync],
  ['br', zlib.brotliCompressSync],
  [' identity', (bytes) => bytes],
];
const real = encoders.filter(([header]) => header !== ' identity');

let server: TestServer;
let left: string[];

beforeAll(async () => {
  server = await listen((req, res) => {
    void answer(req, res, LIMIT).then((outcome) => {
      left = outcome.left();
    });
  });
});

afterAll(() => server.close());

async function upload(encoding: string, body: Buffer | Buffer[]) {
  const { status, text } = await post({ port: server.port, headers: { 'content-encoding': encoding }, body });
  const json = JSON.parse(text) as { error?: { message: string } };
  return { status, text, message: json.error?.message };
}

describe.each(encoders)('a body sent as %s', (header, encode) => {
  it('is inflated, in one piece and cut into bytes', async () => {
    const bytes = encode(Buffer.from(BODY));
    expect(await upload(header, bytes)).toMatchObject({ status: 200, text: BODY });
    const pieces = Array.from(bytes.subarray(0, 200), (_, at) => bytes.subarray(at, at + 1));
    expect(await upload(header, [...pieces, bytes.subarray(200)])).toMatchObject({ status: 200, text: BODY });
    expect(left).toEqual([]);
  });

  it('is measured by its inflated size', async () => {
    const text = `{"prompt":"${'x'.repeat(LIMIT - 13)}"}`;
    expect(await upload(header, encode(Buffer.from(text)))).toMatchObject({ status: 200 });
    expect(await upload(header, encode(Buffer.from(`${text} `)))).toMatchObject({
      status: 413,
      message: `the request body is larger than ${LIMIT} bytes`,
    });
  });
});

describe.each(real)('a body that claims to be %s', (header, encode) => {
  const wrong = 'the request body does not match its content encoding';
  const bytes = encode(Buffer.from(BODY));

  it('is refused where it is plain text', async () => {
    expect(await upload(header, Buffer.from(BODY))).toMatchObject({ status: 400, message: wrong });
  });

  it('is refused where its end is missing, wherever it was cut', async () => {
    for (const length of [1, 2, 9, 12, bytes.length >> 1, bytes.length - 1]) {
      const cut = bytes.subarray(0, length);
      expect(await upload(header, cut)).toMatchObject({ status: 400, message: wrong });
    }
  });

  it('is refused where something follows its end, also in a later piece', async () => {
    for (const garbage of ['x', '\0', '{"model":"m2"}', 'x'.repeat(2000)]) {
      const more = Buffer.from(garbage);
      expect(await upload(header, Buffer.concat([bytes, more]))).toMatchObject({
        status: 400,
        message: wrong,
      });
      expect(await upload(header, [bytes, more])).toMatchObject({ status: 400, message: wrong });
    }
  });

  it('is stopped at the limit where it would fill the memory', async () => {
    const bomb = encode(Buffer.alloc(LIMIT * 500, 0x20));
    expect(bomb.length).toBeLessThan(LIMIT);
    expect(await upload(header, bomb)).toMatchObject({ status: 413 });
  });
});

describe('a compressed body', () => {
  it('is measured by the size that was sent, too', async () => {
    const many = Buffer.concat(Array.from({ length: 600 }, () => zlib.gzipSync('')));
    expect(many.length).toBeGreaterThan(LIMIT);
    expect(await upload('gzip', many)).toMatchObject({ status: 413 });
    expect(await upload('gzip', [many.subarray(0, 6000), many.subarray(6000)])).toMatchObject({
      status: 413,
    });
  });

  it('may be several gzip members in a row', async () => {
    const half = BODY.length >> 1;
    const members = [BODY.slice(0, half), BODY.slice(half)].map((text) => zlib.gzipSync(text));
    expect(await upload('gzip', Buffer.concat(members))).toMatchObject({ status: 200, text: BODY });
  });

  it('is checked like any other once it is inflated', async () => {
    expect(await upload('gzip', zlib.gzipSync('[1]'))).toMatchObject({ status: 400 });
    expect(await upload('br', zlib.brotliCompressSync(Buffer.from([0x22, 0xff, 0x22])))).toMatchObject({
      status: 400,
      message: 'the request body is not valid UTF-8',
    });
  });

  it('is inflated also where no limit fits into a buffer', async () => {
    const bytes = await inflateBody(zlib.gzipSync(BODY), 'gzip', Number.MAX_SAFE_INTEGER);
    expect(bytes.toString()).toBe(BODY);
  });
});

describe('another encoding', () => {
  it.each(['gzip, br', 'gzip,gzip', 'zstd', 'compress', '*', 'identity, gzip', '__proto__', 'gzip;q=1'])(
    'is refused with 415: %s',
    async (header) => {
      expect(await upload(header, zlib.gzipSync(BODY))).toMatchObject({
        status: 415,
        message: 'the content encoding is not supported: use gzip, deflate, br or none',
      });
    },
  );

  it('stands for none where the header is missing or empty', () => {
    expect([encodingOf(undefined), encodingOf(''), encodingOf('Identity')]).toEqual([null, null, null]);
  });
});
