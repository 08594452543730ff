/** A caller that does not read holds its engine back, loses nothing, and is in nobody else's way. */
import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import {
  answer,
  ask,
  type Call,
  OK,
  openEngine,
  openPools,
  pause,
  type RawEngine,
  send,
  until,
} from './raw-engine';
import { trustCertificate } from './trust';

/** More than the buffers of two sockets hold. */
const MUCH = randomBytes(32 << 20);

/** What has left the process for the wire. */
function gone(socket: Socket): number {
  return socket.bytesWritten - socket.writableLength;
}

/** Waits until the engine's side does not get rid of anything any more. */
async function stuck(socket: Socket): Promise<void> {
  for (let before = -1; before !== gone(socket) || socket.writableLength === 0; ) {
    before = gone(socket);
    await pause(100);
  }
}

function inChunks(bytes: Buffer): Buffer {
  const parts: Buffer[] = [Buffer.from(`${OK}transfer-encoding: chunked\r\n\r\n`)];
  for (let at = 0; at < bytes.length; at += 100_000) {
    const piece = bytes.subarray(at, at + 100_000);
    parts.push(Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n'));
  }
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')]);
}

const FRAMES: [string, (socket: Socket) => void][] = [
  [
    'of a known length',
    (socket) =>
      void socket.write(Buffer.concat([Buffer.from(`${OK}content-length: ${MUCH.length}\r\n\r\n`), MUCH])),
  ],
  ['in chunks', (socket) => void socket.write(inChunks(MUCH))],
  ['until close', (socket) => void socket.end(Buffer.concat([Buffer.from(`${OK}\r\n`), MUCH]))],
];

describe.each([false, true])('towards an engine (TLS: %s)', (secure) => {
  const open = (onTurn: Parameters<typeof openEngine>[0]): Promise<RawEngine> => {
    if (secure) trustCertificate();
    return openEngine(onTurn, { secure });
  };

  test.each(FRAMES)(
    'an answer %s is held back while its caller does not read, and comes whole',
    async (_how, write) => {
      const engine = await open(({ socket }) => write(socket));
      const pools = openPools();
      const call = send(pools, engine.config, {}, (event, { control, received }) => {
        if (event === 'data' && received < 100_000) control.pause();
      });
      await until(() => call.received > 0);
      await stuck(engine.sockets[0]!);
      const { received } = call;
      expect(received).toBeLessThan(1 << 20);
      await pause(50);
      expect(call.received).toBe(received);
      expect(call.events).toEqual(['sent', 'head', 'data']);
      call.during = null;
      call.control.resume();
      await call.over;
      expect(call.events).toEqual(['sent', 'head', 'data', 'end']);
      expect(call.body.equals(MUCH)).toBe(true);
    },
  );

  test('it may be held and let go again and again, in an event or between two', async () => {
    const engine = await open(({ socket }) => void socket.write(inChunks(MUCH.subarray(0, 4 << 20))));
    const pools = openPools();
    let turn = 0;
    const call = send(pools, engine.config, {}, (event, { control }) => {
      if (event !== 'data') return;
      turn += 1;
      if (turn % 3 === 0) setImmediate(() => control.pause());
      else control.pause();
      if (turn % 3 === 2) control.resume();
      else setTimeout(() => control.resume(), 1);
    });
    await call.over;
    expect(call.body.equals(MUCH.subarray(0, 4 << 20))).toBe(true);
  });

  test('an answer that is held at its head, and has come whole with it, does not hold its connection', async () => {
    const engine = await open(({ socket, nth }) => void socket.write(answer(`small ${nth}`)));
    const pools = openPools();
    const held = await send(pools, engine.config, {}, (event, { control }) => {
      if (event === 'head') control.pause();
    }).over;
    expect(held.text).toBe('small 0');
    expect((await ask(pools, engine.config)).text).toBe('small 1');
    expect(engine.sockets).toHaveLength(1);
  });

  test("a call that is over holds nobody back: its connection is another call's by then", async () => {
    const engine = await open(
      ({ socket, nth }) => void socket.write(answer(nth === 0 ? 'x' : MUCH.toString('latin1', 0, 1 << 20))),
    );
    const pools = openPools({ sockets: 1 });
    let first: Call | null = null;
    const over = send(pools, engine.config, {}, (event, call) => {
      first = call;
      // The client is slow to take the last of it.
      if (event === 'end') call.control.pause();
    }).over;
    const second = send(pools, engine.config);
    await over;
    await until(() => second.events.includes('head'));
    first!.control.pause();
    expect((await second.over).events).toEqual(['sent', 'head', 'data', 'end']);
  });

  test('a call that is over lets nobody go: another holds its connection', async () => {
    const engine = await open(
      ({ socket, nth }) => void (nth === 0 ? socket.write(answer('x')) : FRAMES[0]![1](socket)),
    );
    const pools = openPools();
    const first = await ask(pools, engine.config);
    const second = send(pools, engine.config, {}, (event, { control }) => {
      if (event === 'data') control.pause();
    });
    await until(() => second.received > 0);
    await stuck(engine.sockets[0]!);
    const { received } = second;
    first.control.resume();
    await pause(50);
    expect(second.received).toBe(received);
    second.control.cut();
  });

  test('an engine that takes its time with the head and the body is waited for', async () => {
    const engine = await open(({ socket }) => {
      const words = [`${OK}content-length: 9\r\n`, '\r\n', 'one', 'two', 'six'];
      const next = (): void => {
        const word = words.shift();
        if (word === undefined) return;
        socket.write(word);
        setTimeout(next, 400);
      };
      setTimeout(next, 1200);
    });
    // All limits of the pool are far below: they are for connecting and for free connections.
    const pools = openPools({ connectTimeoutS: 0.3, keepaliveS: 0.1, maxSocketAgeS: 0.1 });
    const call = await ask(pools, engine.config);
    expect([call.text, call.events]).toEqual(['onetwosix', ['sent', 'head', 'data', 'end']]);
  });
});
