/** A limit of connections: calls wait in their order, and go on whatever becomes of those before them. */
import { answer, ask, closed, openEngine, openPools, pause, send, type Turn, until } from './raw-engine';

function path({ head }: Turn): string {
  return head.split(' ')[1]!;
}

const PATHS = ['/0', '/1', '/2', '/3', '/4', '/5'];

/** What an engine may do with a request, and the connections that six calls take one after the other. */
const ENDS: [string, (turn: Turn) => void, object, number][] = [
  ['is answered', ({ socket }) => void socket.write(answer('x')), {}, 1],
  [
    'is answered and its connection closed',
    ({ socket }) => void socket.end(answer('x', 'connection: close\r\n')),
    {},
    6,
  ],
  [
    'is answered on a connection that is too old then',
    ({ socket }) => void socket.write(answer('x')),
    { maxSocketAgeS: 0 },
    6,
  ],
  [
    'is answered by an engine that keeps none',
    ({ socket }) => void socket.write(answer('x', 'keep-alive: timeout=0\r\n')),
    {},
    6,
  ],
  ['breaks', ({ socket }) => void socket.resetAndDestroy(), {}, 6],
  ['gets garbage', ({ socket }) => void socket.write('garbage'), {}, 6],
];

test.each(ENDS)('first come, first served where each call %s', async (_how, onTurn, limits, connections) => {
  const engine = await openEngine(onTurn);
  const pools = openPools({ sockets: 1, ...limits });
  const calls = PATHS.map((at) => send(pools, engine.config, { path: at }));
  await Promise.all(calls.map(({ over }) => over));
  expect(engine.turns.map(path)).toEqual(PATHS);
  expect(engine.sockets).toHaveLength(connections);
  for (const { events } of calls) expect(events[0]).toBe('sent');
});

test('no more connections than the limit, and all of them used', async () => {
  const held: Turn[] = [];
  const engine = await openEngine((turn) => void held.push(turn));
  const pools = openPools({ sockets: 3 });
  const calls = PATHS.map((at) => send(pools, engine.config, { path: at }));
  await until(() => held.length === 3);
  await pause(30);
  expect(engine.sockets).toHaveLength(3);
  expect(calls.map(({ events }) => events.length)).toEqual([1, 1, 1, 0, 0, 0]);
  for (let at = 0; at < 6; at++) {
    await until(() => held.length > at);
    held[at]!.socket.write(answer(path(held[at]!)));
  }
  for (const [at, call] of calls.entries()) expect((await call.over).text).toBe(PATHS[at]);
  expect(engine.sockets).toHaveLength(3);
});

test('a call that is cut gives its place to the one that has waited longest', async () => {
  const engine = await openEngine(() => undefined);
  const pools = openPools({ sockets: 1 });
  const calls = PATHS.slice(0, 3).map((at) => send(pools, engine.config, { path: at }));
  for (const [at, call] of calls.entries()) {
    await until(() => engine.turns.length === at + 1);
    call.control.cut();
  }
  expect(engine.turns.map(path)).toEqual(PATHS.slice(0, 3));
});

test('calls that nobody can connect fail one after the other, and none is left waiting', async () => {
  const engine = await openEngine(() => undefined, { onSocket: (socket) => void socket.resetAndDestroy() });
  const pools = openPools({ sockets: 2 });
  const calls = await Promise.all(PATHS.map((at) => ask(pools, engine.config, { path: at })));
  for (const { error } of calls) expect(error).toMatchObject({ failure: 'connection' });
});

test('a call that is sent again takes the place of the connection that was dead', async () => {
  const engine = await openEngine(({ socket, connection, nth }) => {
    if (connection === 0 && nth === 1) socket.end();
    else socket.write(answer('x'));
  });
  const pools = openPools({ sockets: 1 });
  await ask(pools, engine.config);
  const calls = ['/again', '/behind'].map((at) => send(pools, engine.config, { path: at }));
  for (const { over } of calls) expect((await over).text).toBe('x');
  expect(engine.turns.map(path)).toEqual(['/', '/again', '/again', '/behind']);
  expect(engine.sockets).toHaveLength(2);
  await closed(engine.sockets[0]!);
});
