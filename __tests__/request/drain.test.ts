import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { type DrainLimits, drain } from '../../lib/request/drain';
import { closed, connect, listen, type TestServer } from './upload';

const WIDE: DrainLimits = { maxBytes: 1_000_000, maxMs: 60_000 };

let server: TestServer;
let limits: DrainLimits;
let requests: IncomingMessage[];
/** How many the socket had before. */
let closeListeners: number;

beforeEach(async () => {
  limits = WIDE;
  requests = [];
  server = await listen((req, res) => {
    requests.push(req);
    closeListeners = req.socket.listenerCount('close');
    drain(req, limits);
    res.writeHead(413).end();
  });
});

afterEach(() => server.close());

/** Starts an upload; the answer comes before its end. */
async function start(announced: number) {
  const socket = await connect(server.port);
  socket.write(`POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${announced}\r\n\r\n`);
  await once(socket, 'data');
  return socket;
}

/** Node itself adds a listener for the end of a request whose answer is out before. */
function expectNoListeners(req: IncomingMessage): void {
  const left = ['data', 'end', 'error'].flatMap((event) => req.listeners(event));
  expect(left.map(({ name }) => name).filter((name) => name !== 'clearIncoming')).toEqual([]);
  expect(req.socket.listenerCount('close')).toBeLessThanOrEqual(closeListeners);
}

describe('drain', () => {
  it('lets an upload run out and the connection serve the next request', async () => {
    const socket = await start(1000);
    socket.write('x'.repeat(1000));
    socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n');
    const [data] = (await once(socket, 'data')) as [Buffer];
    expect(data.toString()).toMatch(/^HTTP\/1.1 413 /);
    expectNoListeners(requests[0]!);
    socket.destroy();
  });

  it('takes as many bytes as it may', async () => {
    limits = { ...WIDE, maxBytes: 1000 };
    const socket = await start(1000);
    socket.write('x'.repeat(1000));
    await once(requests[0]!, 'end');
    expect(requests[0]!.complete).toBe(true);
    socket.destroy();
  });

  it('cuts the connection of an upload that goes on past its limit', async () => {
    limits = { ...WIDE, maxBytes: 1000 };
    const socket = await start(100_000);
    socket.write('x'.repeat(1001));
    await closed(requests[0]!.socket);
    expectNoListeners(requests[0]!);
  });

  it('cuts the connection of an upload that never ends', async () => {
    limits = { ...WIDE, maxMs: 20 };
    await start(100_000);
    await closed(requests[0]!.socket);
    expectNoListeners(requests[0]!);
  });

  it('takes it in silence when the client leaves', async () => {
    const socket = await start(100_000);
    socket.destroy();
    await closed(requests[0]!.socket);
    expectNoListeners(requests[0]!);
  });

  it('has nothing to do with a request that is over', async () => {
    const socket = await start(4);
    socket.write('over');
    await once(requests[0]!, 'end');
    drain(requests[0]!, { maxBytes: 0, maxMs: 0 });
    expectNoListeners(requests[0]!);
    socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n');
    await once(socket, 'data');
    socket.destroy();
  });
});
