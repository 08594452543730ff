/** Calls that do not end well: refused, timed out, broken, unreadable. Each is heard of once. */

import type { AddressInfo, LookupFunction } from 'node:net';
import { createServer } from 'node:net';
import { openBlackHole } from '../../reliability/black-hole';
import {
  answer,
  ask,
  type Call,
  closed,
  engineAt,
  OK,
  openEngine,
  openPools,
  send,
  settled,
  until,
} from './raw-engine';

/** A port on which nothing listens. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

describe('a call that finds no engine', () => {
  test('is unreachable where nothing listens', async () => {
    const call = await ask(openPools(), engineAt(await freePort()));
    expect(call.events).toEqual(['fail']);
    expect(call.error).toMatchObject({
      failure: 'unreachable',
      message: expect.stringContaining('ECONNREFUSED'),
    });
  });

  test('is unreachable where there is no such name', async () => {
    const lookup: LookupFunction = (_host, _options, done) => {
      done(Object.assign(new Error('no such name'), { code: 'ENOTFOUND' }), '');
    };
    const call = await ask(openPools({ lookup }), engineAt(80, 'engine.test'));
    expect(call.error).toMatchObject({ failure: 'unreachable', message: 'ENOTFOUND: no such name' });
  });

  test('says so when it is not connected in time, once', async () => {
    const call = await ask(openPools({ connectTimeoutS: 0.1 }), engineAt(await openBlackHole()));
    expect(call.error).toMatchObject({ failure: 'connect_timeout', message: 'not connected within 100 ms' });
    expect(await settled(call)).toEqual(['fail']);
  });

  test('goes to the next address of the name where the first refuses', async () => {
    const engine = await openEngine(({ socket }) => void socket.write(answer('x'.repeat(200_000))));
    const addresses = ['127.0.0.77', '127.0.0.1'].map((address) => ({ address, family: 4 }));
    const lookup: LookupFunction = (_host, options, done) => {
      if (options.all === true) done(null, addresses);
      else done(null, addresses[0]!.address, 4);
    };
    const pools = openPools({ lookup });
    const config = engineAt(engine.port, 'engine.test');
    expect((await ask(pools, config)).received).toBe(200_000);
    expect((await ask(pools, config)).received).toBe(200_000);
    expect(engine.turns[1]).toMatchObject({
      connection: 0,
      head: expect.stringContaining(`host: engine.test:${engine.port}\r\n`),
    });
  });

  test('finds one at an IPv6 literal', async () => {
    const engine = await openEngine(({ socket }) => void socket.write(answer('six')), { host: '::1' });
    const call = await ask(openPools(), engineAt(engine.port, '::1'));
    expect(call.text).toBe('six');
    expect(engine.turns[0]!.head).toContain(`\r\nhost: [::1]:${engine.port}\r\n`);
  });
});

describe('an engine that breaks off', () => {
  test.each([
    ['closes before the head', '', false, ['sent', 'fail'], 'the engine closed the connection'],
    ['closes in the head', 'HTTP/1.1 200', false, ['sent', 'fail'], 'the engine closed the connection'],
    [
      'closes in the body',
      `${OK}content-length: 9\r\n\r\nabc`,
      false,
      ['sent', 'head', 'data', 'fail'],
      'the engine closed the connection',
    ],
    [
      'closes before the last chunk',
      `${OK}transfer-encoding: chunked\r\n\r\n3\r\nabc\r\n`,
      false,
      ['sent', 'head', 'data', 'fail'],
      'the engine closed the connection',
    ],
    [
      'closes before the end of the trailers',
      `${OK}transfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n`,
      false,
      ['sent', 'head', 'data', 'fail'],
      'the engine closed the connection',
    ],
    ['resets before the head', '', true, ['sent', 'fail'], 'ECONNRESET: read ECONNRESET'],
    [
      'resets in the body',
      `${OK}content-length: 9\r\n\r\nabc`,
      true,
      ['sent', 'head', 'data', 'fail'],
      'ECONNRESET: read ECONNRESET',
    ],
    [
      'resets in a body without length',
      `${OK}\r\nabc`,
      true,
      ['sent', 'head', 'data', 'fail'],
      'ECONNRESET: read ECONNRESET',
    ],
  ] as const)(
    '%s: the call fails, and the next one is well',
    async (_how, bytes, resets, events, message) => {
      let first: Call | null = null;
      const engine = await openEngine(({ socket, connection }) => {
        if (connection > 0) {
          socket.write(answer('well'));
          return;
        }
        socket.write(bytes);
        if (!resets) socket.end();
        // What is on the way is lost in a reset.
        else
          void until(() => first!.received === (bytes === '' ? 0 : 3)).then(() => socket.resetAndDestroy());
      });
      const pools = openPools();
      first = send(pools, engine.config);
      const call = await first.over;
      expect(call.events).toEqual(events);
      expect(call.error).toMatchObject({ failure: 'connection', message });
      expect((await ask(pools, engine.config)).text).toBe('well');
    },
  );

  test('has given a whole answer where it closes its side behind it', async () => {
    const engine = await openEngine(({ socket }) => void socket.end(answer('whole')));
    expect((await ask(openPools(), engine.config)).events).toEqual(['sent', 'head', 'data', 'end']);
    await closed(engine.sockets[0]!);
  });

  test.each([
    ['garbage', '<html>', 'no HTTP/1.1 status line'],
    ['the frames of HTTP/2', '\0\0\x12\x04\0\0\0\0\0', 'no HTTP/1.1 status line'],
    ['a switch of protocols', 'HTTP/1.1 101 X\r\n\r\n', 'a switch of protocols that nobody asked for'],
    [
      'two lengths',
      `${OK}content-length: 1\r\ntransfer-encoding: chunked\r\n\r\n`,
      'a body with two lengths',
    ],
  ])(
    'sends %s and nothing more: the call fails at once, and the connection is closed',
    async (_what, bytes, message) => {
      const engine = await openEngine(({ socket }) => void socket.write(Buffer.from(bytes, 'latin1')));
      const call = await ask(openPools(), engine.config);
      expect(call.events).toEqual(['sent', 'fail']);
      expect(call.error).toMatchObject({ failure: 'answer', message });
      await closed(engine.sockets[0]!);
    },
  );

  test('sends what is no chunk: what came before it is heard, then the failure', async () => {
    const engine = await openEngine(({ socket }) => {
      socket.write(`${OK}transfer-encoding: chunked\r\n\r\n3\r\nabc\r\n`);
      setTimeout(() => socket.write('secret\r\n'), 20);
    });
    const call = await ask(openPools(), engine.config);
    expect([call.text, call.events]).toEqual(['abc', ['sent', 'head', 'data', 'fail']]);
    expect(call.error).toMatchObject({ failure: 'answer', message: 'a chunk without a size' });
  });
});
