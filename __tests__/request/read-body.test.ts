import { once } from 'node:events';
import http from 'node:http';
import { readBody } from '../../lib/request/read-body';
import { bodyOf, closed, connect, listen, message, post, useUploads } from './upload';

const LIMIT = 1000;
const BODY = '{"model":"m1","prompt":"\u4f60\u597d \u{1f44b}", "seed":990000000262240065}';

const uploads = useUploads(LIMIT);

describe('reading the stream', () => {
  it('takes a body with a length, to the byte, and leaves no listener', async () => {
    expect(await post({ port: uploads.port, body: BODY })).toMatchObject({ status: 200, text: BODY });
    expect((await uploads.outcome()).left()).toEqual([]);
  });

  it('takes a chunked body whose characters are cut anywhere', async () => {
    const bytes = Buffer.from(BODY);
    const pieces = Array.from(bytes, (_, at) => bytes.subarray(at, at + 1));
    expect(await post({ port: uploads.port, body: pieces })).toMatchObject({ status: 200, text: BODY });
    expect((await uploads.outcome()).left()).toEqual([]);
  });

  it('takes a body of many megabytes', async () => {
    uploads.maxBytes = 32 * 1024 * 1024;
    const body = bodyOf(12 * 1024 * 1024);
    const { status, text } = await post({ port: uploads.port, body });
    expect([status, text.length, text === body]).toEqual([200, body.length, true]);
  });

  it('takes a body that waits for 100 Continue', async () => {
    const req = http.request({
      port: uploads.port,
      method: 'POST',
      agent: false,
      headers: { expect: '100-continue', 'content-length': Buffer.byteLength(BODY) },
    });
    req.flushHeaders();
    await once(req, 'continue');
    req.end(BODY);
    const [res] = (await once(req, 'response')) as [http.IncomingMessage];
    res.resume();
    expect(res.statusCode).toBe(200);
  });

  it.each(['application/json', 'text/plain', 'application/x-www-form-urlencoded', ''])(
    'does not ask for the content type (%j)',
    async (type) => {
      const { status } = await post({ port: uploads.port, body: BODY, headers: { 'content-type': type } });
      expect(status).toBe(200);
    },
  );

  it('reads a stream that the host paused while it did something else', async () => {
    uploads.before = async (req) => {
      req.pause();
      await new Promise((resolve) => setImmediate(resolve));
    };
    expect(await post({ port: uploads.port, body: BODY })).toMatchObject({ status: 200, text: BODY });
  });

  it('reads a small body that had arrived whole before anybody looked', async () => {
    uploads.before = async (req) => {
      while (!req.complete) await new Promise((resolve) => setImmediate(resolve));
    };
    expect(await post({ port: uploads.port, body: BODY })).toMatchObject({ status: 200, text: BODY });
  });

  it.each(['utf8', 'latin1', 'base64'] as const)(
    'reads a stream that the host set to %s',
    async (encoding) => {
      uploads.before = (req) => req.setEncoding(encoding);
      expect(await post({ port: uploads.port, body: [BODY, ' '] })).toMatchObject({
        status: 200,
        text: `${BODY} `,
      });
    },
  );

  it.each([
    ['a length of zero', { 'content-length': 0 }],
    ['a length of zero and an encoding', { 'content-length': 0, 'content-encoding': 'gzip' }],
  ])('refuses a request with %s', async (_what, headers) => {
    const { status, text } = await post({ port: uploads.port, body: '', headers });
    expect([status, message(text)]).toEqual([400, 'the request body is not valid JSON']);
  });

  it('refuses a request without any body', async () => {
    const socket = await connect(uploads.port);
    socket.write('POST / HTTP/1.1\r\nhost: x\r\n\r\n');
    const [data] = (await once(socket, 'data')) as [Buffer];
    expect(data.toString()).toMatch(/^HTTP\/1.1 400 /);
    socket.destroy();
  });

  it('leaves no listener when the text is refused', async () => {
    expect((await post({ port: uploads.port, body: '{"a":' })).status).toBe(400);
    expect((await uploads.outcome()).left()).toEqual([]);
  });
});

describe('the limit', () => {
  const words = `the request body is larger than ${LIMIT} bytes`;

  it('is the last size that is taken', async () => {
    const body = bodyOf(LIMIT);
    expect((await post({ port: uploads.port, body })).status).toBe(200);
    expect((await post({ port: uploads.port, body: [body.slice(0, 500), body.slice(500)] })).status).toBe(
      200,
    );
  });

  it('refuses one byte more, and the connection serves the next request', async () => {
    const body = bodyOf(LIMIT + 1);
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    const { port } = uploads;
    const first = await post({ port, body, agent });
    expect([first.status, message(first.text)]).toEqual([413, words]);
    const chunked = await post({ port, body: [body.slice(0, 500), body.slice(500)], agent });
    expect([chunked.status, message(chunked.text), chunked.reused]).toEqual([413, words, true]);
    expect(await post({ port, body: BODY, agent })).toMatchObject({ status: 200, reused: true });
    for (const at of [0, 1]) expect((await uploads.outcome(at)).left()).toEqual([]);
    agent.destroy();
  });

  it('refuses by the announced length, before any byte has come', async () => {
    const socket = await connect(uploads.port);
    socket.write(`POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${LIMIT + 1}\r\n\r\n`);
    const [data] = (await once(socket, 'data')) as [Buffer];
    expect(data.toString()).toMatch(/^HTTP\/1.1 413 /);
    socket.destroy();
    const { req, left } = await uploads.outcome();
    await closed(req.socket);
    expect(left()).toEqual([]);
  });

  it.each(['content-length: 20000000', 'transfer-encoding: chunked'])(
    'is answered also to a client that reads only after it has written all (%s)',
    async (header) => {
      const socket = await connect(uploads.port);
      const chunked = header.startsWith('transfer');
      const size = 20_000_000;
      const payload = Buffer.alloc(size, 0x78);
      socket.write(
        `POST / HTTP/1.1\r\nhost: x\r\n${header}\r\n\r\n${chunked ? `${size.toString(16)}\r\n` : ''}`,
      );
      const tail = chunked ? '\r\n0\r\n\r\n' : '';
      await new Promise((resolve) => socket.write(Buffer.concat([payload, Buffer.from(tail)]), resolve));
      const [data] = (await once(socket, 'data')) as [Buffer];
      expect(data.toString()).toMatch(/^HTTP\/1.1 413 /);
      socket.destroy();
    },
  );
});

describe('a stream that somebody else has read', () => {
  it('is a mistake in the set-up, answered with 500, where nothing was kept', async () => {
    uploads.before = async (req) => {
      req.resume();
      await once(req, 'end');
    };
    const { status, text } = await post({ port: uploads.port, body: BODY });
    expect(status).toBe(500);
    expect(message(text)).toBe(
      'the request body was read before this middleware and not kept: ' +
        'mount it before the other reader, or use express.json() with narwhalRouter.rawBody',
    );
  });

  it('is the same mistake where it was read in part', async () => {
    uploads.before = async (req) => {
      req.resume();
      await once(req, 'data');
    };
    expect((await post({ port: uploads.port, body: [BODY, ' '] })).status).toBe(500);
  });

  it('is never waited for, whatever false value was left behind', async () => {
    for (const body of [false, 0, '', null]) {
      uploads.before = async (req) => {
        req.resume();
        await once(req, 'end');
        Object.assign(req, { body });
      };
      expect((await post({ port: uploads.port, body: BODY })).status).toBe(400);
    }
  });
});

describe('readBody', () => {
  it('hands the one chunk of a small body on without a copy', async () => {
    const chunks: Buffer[] = [];
    const seen: Buffer[] = [];
    const own = await listen((req, res) => {
      req.on('data', (chunk: Buffer) => chunks.push(chunk));
      void readBody(req, { maxBytes: LIMIT }).then(({ bytes }) => {
        seen.push(bytes);
        res.end();
      });
    });
    await post({ port: own.port, body: BODY });
    await own.close();
    expect(chunks).toHaveLength(1);
    expect(seen[0]).toBe(chunks[0]);
  });
});
