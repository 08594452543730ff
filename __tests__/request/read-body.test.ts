import { once } from 'node:events';
import http from 'node:http';
import type { Readable } from 'node:stream';
import { ClientGoneError } from '../../lib/errors';
import { readBody } from '../../lib/request/read-body';
import { answer, connect, listen, type Outcome, post, type TestServer } from './upload';

const LIMIT = 1000;
const BODY = '{"model":"m1","prompt":"\u4f60\u597d \u{1f44b}", "seed":990000000262240065}';

let server: TestServer;
/** One entry per request, in order of arrival. */
let outcomes: Promise<Outcome>[];
let arrived: (() => void) | null;
let maxBytes: number;
let before: (req: http.IncomingMessage) => unknown;

beforeEach(async () => {
  outcomes = [];
  arrived = null;
  maxBytes = LIMIT;
  before = () => undefined;
  server = await listen((req, res) => {
    const prepare = async () => {
      await before(req);
      return answer(req, res, maxBytes);
    };
    outcomes.push(prepare());
    arrived?.();
  });
});

afterEach(() => server.close());

async function outcome(at = 0): Promise<Outcome> {
  while (outcomes.length <= at) {
    await new Promise<void>((resolve) => {
      arrived = resolve;
    });
  }
  return outcomes[at]!;
}

/** Waits as a bystander would: `once` would listen for errors, too, and so change what happens. */
async function closed(stream: Readable): Promise<void> {
  if (!stream.closed) await new Promise((resolve) => stream.once('close', resolve));
}

/** A body of exactly this many bytes. */
function bodyOf(size: number): string {
  return `{"prompt":"${'x'.repeat(size - 13)}"}`;
}

function message(text: string): string {
  return (JSON.parse(text) as { error: { message: string } }).error.message;
}

describe('reading the stream', () => {
  it('takes a body with a length, to the byte, and leaves no listener', async () => {
    expect(await post({ port: server.port, body: BODY })).toMatchObject({ status: 200, text: BODY });
    expect((await outcome()).left()).toEqual([]);
  });

  it('takes a chunked body whose characters are cut anywhere', async () => {
    const bytes = Buffer.from(BODY);
    const pieces = Array.from(bytes, (_, at) => bytes.subarray(at, at + 1));
    expect(await post({ port: server.port, body: pieces })).toMatchObject({ status: 200, text: BODY });
    expect((await outcome()).left()).toEqual([]);
  });

  it('takes a body of many megabytes', async () => {
    maxBytes = 32 * 1024 * 1024;
    const body = bodyOf(12 * 1024 * 1024);
    const { status, text } = await post({ port: server.port, body });
    expect([status, text.length, text === body]).toEqual([200, body.length, true]);
  });

  it('takes a body that waits for 100 Continue', async () => {
    const req = http.request({
      port: server.port,
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
      const { status } = await post({ port: server.port, body: BODY, headers: { 'content-type': type } });
      expect(status).toBe(200);
    },
  );

  it('reads a stream that the host paused while it did something else', async () => {
    before = async (req) => {
      req.pause();
      await new Promise((resolve) => setImmediate(resolve));
    };
    expect(await post({ port: server.port, body: BODY })).toMatchObject({ status: 200, text: BODY });
  });

  it('reads a small body that had arrived whole before anybody looked', async () => {
    before = async (req) => {
      while (!req.complete) await new Promise((resolve) => setImmediate(resolve));
    };
    expect(await post({ port: server.port, body: BODY })).toMatchObject({ status: 200, text: BODY });
  });

  it.each(['utf8', 'latin1', 'base64'] as const)(
    'reads a stream that the host set to %s',
    async (encoding) => {
      before = (req) => req.setEncoding(encoding);
      expect(await post({ port: server.port, body: [BODY, ' '] })).toMatchObject({
        status: 200,
        text: `${BODY} `,
      });
    },
  );

  it.each([
    ['a length of zero', { 'content-length': 0 }],
    ['a length of zero and an encoding', { 'content-length': 0, 'content-encoding': 'gzip' }],
  ])('refuses a request with %s', async (_what, headers) => {
    const { status, text } = await post({ port: server.port, body: '', headers });
    expect([status, message(text)]).toEqual([400, 'the request body is not valid JSON']);
  });

  it('refuses a request without any body', async () => {
    const socket = await connect(server.port);
    socket.write('POST / HTTP/1.1\r\nhost: x\r\n\r\n');
    const [data] = (await once(socket, 'data')) as [Buffer];
    expect(data.toString()).toMatch(/^HTTP\/1.1 400 /);
    socket.destroy();
  });

  it('leaves no listener when the text is refused', async () => {
    expect((await post({ port: server.port, body: '{"a":' })).status).toBe(400);
    expect((await outcome()).left()).toEqual([]);
  });
});

describe('the limit', () => {
  const words = `the request body is larger than ${LIMIT} bytes`;

  it('is the last size that is taken', async () => {
    const body = bodyOf(LIMIT);
    expect((await post({ port: server.port, body })).status).toBe(200);
    expect((await post({ port: server.port, body: [body.slice(0, 500), body.slice(500)] })).status).toBe(200);
  });

  it('refuses one byte more, and the connection serves the next request', async () => {
    const body = bodyOf(LIMIT + 1);
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    const { port } = server;
    const first = await post({ port, body, agent });
    expect([first.status, message(first.text)]).toEqual([413, words]);
    const chunked = await post({ port, body: [body.slice(0, 500), body.slice(500)], agent });
    expect([chunked.status, message(chunked.text), chunked.reused]).toEqual([413, words, true]);
    expect(await post({ port, body: BODY, agent })).toMatchObject({ status: 200, reused: true });
    for (const at of [0, 1]) expect((await outcome(at)).left()).toEqual([]);
    agent.destroy();
  });

  it('refuses by the announced length, before any byte has come', async () => {
    const socket = await connect(server.port);
    socket.write(`POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${LIMIT + 1}\r\n\r\n`);
    const [data] = (await once(socket, 'data')) as [Buffer];
    expect(data.toString()).toMatch(/^HTTP\/1.1 413 /);
    socket.destroy();
    const { req, left } = await outcome();
    await closed(req.socket);
    expect(left()).toEqual([]);
  });

  it.each(['content-length: 20000000', 'transfer-encoding: chunked'])(
    'is answered also to a client that reads only after it has written all (%s)',
    async (header) => {
      const socket = await connect(server.port);
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

describe('a client that leaves', () => {
  const heads = {
    'with a length': 'content-length: 500\r\n\r\n{"prompt":',
    chunked: 'transfer-encoding: chunked\r\n\r\na\r\n{"prompt":\r\n',
    'with an encoding': 'content-encoding: gzip\r\ncontent-length: 500\r\n\r\n\x1f',
    'before the first byte': 'content-length: 500\r\n\r\n',
  };

  it.each(Object.entries(heads))('ends the reading: %s', async (_what, head) => {
    const socket = await connect(server.port);
    socket.write(`POST / HTTP/1.1\r\nhost: x\r\n${head}`, 'latin1');
    let started: () => void = () => undefined;
    const reading = new Promise<void>((resolve) => {
      started = resolve;
    });
    before = () => started();
    await reading;
    socket.destroy();
    const { error, left } = await outcome();
    expect(error).toBeInstanceOf(ClientGoneError);
    expect(left()).toEqual([]);
  });

  it('is noticed when it left before anybody read', async () => {
    before = (req) => closed(req);
    const socket = await connect(server.port);
    socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 500\r\n\r\n{"prompt":');
    socket.destroy();
    expect((await outcome()).error).toBeInstanceOf(ClientGoneError);
  });

  it('is noticed when it left while another reader was at it', async () => {
    before = async (req) => {
      req.resume();
      await once(req, 'data');
      await closed(req);
    };
    const socket = await connect(server.port);
    socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 500\r\n\r\n{"prompt":');
    while (outcomes.length === 0) await new Promise((resolve) => setImmediate(resolve));
    socket.destroy();
    expect((await outcome()).error).toBeInstanceOf(ClientGoneError);
  });

  it('is noticed also when the host has given its answer in the meantime', async () => {
    const own = await listen((req, res) => {
      outcomes.push(answer(req, res, maxBytes));
      res.end();
    });
    const socket = await connect(own.port);
    socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 500\r\n\r\n{"prompt":');
    await once(socket, 'data');
    socket.destroy();
    const { error, left } = await outcome();
    expect(error).toBeInstanceOf(ClientGoneError);
    expect(left()).toEqual([]);
    await own.close();
  });

  it('is noticed when it only shuts its own side before the body is whole', async () => {
    const socket = await connect(server.port);
    socket.end('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 500\r\n\r\n{"prompt":');
    expect((await outcome()).error).toBeInstanceOf(ClientGoneError);
  });

  it('has not left when it only waits', async () => {
    const socket = await connect(server.port);
    const body = Buffer.from(BODY);
    socket.write(`POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n`);
    socket.write(body.subarray(0, 5));
    while (outcomes.length === 0) await new Promise((resolve) => setImmediate(resolve));
    socket.write(body.subarray(5));
    expect((await outcome()).error).toBeNull();
    socket.destroy();
  });
});

describe('a stream that somebody else has read', () => {
  it('is a mistake in the set-up, answered with 500, where nothing was kept', async () => {
    before = async (req) => {
      req.resume();
      await once(req, 'end');
    };
    const { status, text } = await post({ port: server.port, body: BODY });
    expect(status).toBe(500);
    expect(message(text)).toBe(
      'the request body was read before this middleware and not kept: ' +
        'mount it before the other reader, or use express.json() with narwhalRouter.rawBody',
    );
  });

  it('is the same mistake where it was read in part', async () => {
    before = async (req) => {
      req.resume();
      await once(req, 'data');
    };
    expect((await post({ port: server.port, body: [BODY, ' '] })).status).toBe(500);
  });

  it('is never waited for, whatever false value was left behind', async () => {
    for (const body of [false, 0, '', null]) {
      before = async (req) => {
        req.resume();
        await once(req, 'end');
        Object.assign(req, { body });
      };
      expect((await post({ port: server.port, body: BODY })).status).toBe(400);
    }
  });
});

describe('readBody', () => {
  it('hands the one chunk of a small body on without a copy', async () => {
    const chunks: Buffer[] = [];
    const seen: Buffer[] = [];
    const own = await listen(async (req, res) => {
      req.on('data', (chunk: Buffer) => chunks.push(chunk));
      seen.push((await readBody(req, { maxBytes })).bytes);
      res.end();
    });
    await post({ port: own.port, body: BODY });
    await own.close();
    expect(chunks).toHaveLength(1);
    expect(seen[0]).toBe(chunks[0]);
  });
});
