/** The end of the pools, and of the process that has them. */
import { SocketPool } from '../../../lib/engines/wire/socket-pool';
import { openBlackHole } from '../../reliability/black-hole';
import { startChild } from '../../reliability/child';
import {
  answer,
  ask,
  closed,
  engineAt,
  OK,
  openEngine,
  openPools,
  pause,
  send,
  settled,
  until,
} from './raw-engine';

describe('pools that close', () => {
  test('fail running, connecting and waiting calls once each, and are closed when all have ended', async () => {
    const engine = await openEngine(({ socket, head }) => {
      if (head.startsWith('GET /body')) socket.write(`${OK}content-length: 9\r\n\r\nabc`);
      if (head.startsWith('GET /free')) socket.write(answer('free'));
    });
    const pools = openPools();
    const narrow = openPools({ sockets: 1 });
    const hole = engineAt(await openBlackHole());
    await ask(pools, engine.config, { path: '/free' });
    const calls = [
      send(pools, engine.config, { path: '/head' }),
      send(pools, engine.config, { path: '/body' }),
      send(pools, hole),
      send(narrow, engine.config, { path: '/head' }),
      send(narrow, engine.config, { path: '/queued' }),
    ];
    await until(() => engine.turns.length === 4 && calls[1]!.received === 3);
    await Promise.all([pools.close(), narrow.close()]);
    expect(calls.map(({ events }) => events)).toEqual([
      ['sent', 'fail'],
      ['sent', 'head', 'data', 'fail'],
      ['fail'],
      ['sent', 'fail'],
      ['fail'],
    ]);
    for (const { error } of calls)
      expect(error).toMatchObject({ failure: 'closed', message: 'the connection pools are closed' });
    for (const socket of engine.sockets) await closed(socket);
    for (const call of calls)
      expect((await settled(call)).filter((event) => event === 'fail')).toHaveLength(1);
  });

  test('fail a later call, not before the caller has a hold of it, and close at once where nothing is open', async () => {
    const engine = await openEngine(({ socket }) => void socket.write(answer('x')));
    const pools = openPools();
    await pools.close();
    await pools.close();
    const call = send(pools, engine.config);
    expect(call.events).toEqual([]);
    expect((await call.over).error).toMatchObject({ failure: 'closed' });
    expect(engine.sockets).toEqual([]);
  });

  test('do not open a connection for a call that is sent again', async () => {
    const engine = await openEngine(() => undefined);
    const limits = { connectTimeoutMs: 1000, idleMs: 1000, maxAgeMs: 1000, connections: null };
    const address = { isSecure: false, hostname: '127.0.0.1', port: engine.port, authority: 'x' };
    const pool = new SocketPool(address, limits);
    await pool.destroy(new Error('closed'));
    const heard: string[] = [];
    const note = (what: string) => () => void heard.push(what);
    pool.sendOnNew({
      connection: null,
      place: null,
      request: { line: 'GET / HTTP/1.1\r\n', fields: '', body: null },
      boarded: note('boarded'),
      head: note('head'),
      body: note('body'),
      ended: note('ended'),
      broken: ({ message }) => void heard.push(message),
    });
    expect(heard).toEqual(['closed']);
    await pause(30);
    expect(engine.sockets).toEqual([]);
  });
});

test('free connections do not keep a process alive, and a running call does', async () => {
  const child = startChild(`
    const net = require('node:net');
    const { EnginePools } = require('./dist/engines/pools.js');
    const pools = new EnginePools({ connectTimeoutS: 5, keepaliveS: 60, maxSocketAgeS: 60, sockets: null });
    process.once('message', (port) => {
      process.disconnect();
      const origin = 'http://127.0.0.1:' + port;
      const engine = { iid: 'e0', url: origin, origin, prefix: '', role: 'both', pin: false };
      const nothing = () => undefined;
      pools.send(
        { engine, method: 'GET', path: '/', headers: {}, body: null },
        { sent: nothing, head: nothing, data: (bytes) => console.log(bytes.toString()), end: () => console.log('end'), fail: nothing },
      );
    });`);
  const engine = await openEngine(({ socket }) => {
    // Long enough for a process that nothing keeps alive to be gone.
    setTimeout(() => socket.write(answer('late')), 200);
  });
  child.process.send(engine.port);
  expect(await child.exit()).toEqual([0, null]);
  expect(child.output()).toBe('late\nend\n');
});
