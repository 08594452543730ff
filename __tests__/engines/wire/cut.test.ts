/** Calls that nobody wants any more. */
import { openBlackHole } from '../../reliability/black-hole';
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

describe('a call that is cut is silent from then on, and its connection is closed', () => {
  test('while it waits for a connection', async () => {
    const engine = await openEngine(({ socket, nth }) => void (nth > 0 && socket.write(answer('late'))));
    const pools = openPools({ sockets: 1 });
    const first = send(pools, engine.config, { path: '/first' });
    const queued = send(pools, engine.config, { path: '/queued' });
    const last = send(pools, engine.config, { path: '/last' });
    await until(() => engine.turns.length === 1);
    queued.control.cut();
    queued.control.cut();
    engine.sockets[0]!.write(answer('first'));
    expect((await first.over).text).toBe('first');
    expect((await last.over).text).toBe('late');
    expect(await settled(queued)).toEqual([]);
    expect(engine.turns.map(({ head }) => head.split(' ')[1])).toEqual(['/first', '/last']);
  });

  test('while it is being connected', async () => {
    const pools = openPools({ connectTimeoutS: 0.1 });
    const call = send(pools, engineAt(await openBlackHole()));
    call.control.cut();
    await pause(150);
    expect(call.events).toEqual([]);
  });

  test('in the turn in which it was sent', async () => {
    const engine = await openEngine(() => undefined);
    const pools = openPools();
    const call = send(pools, engine.config);
    call.control.cut();
    expect(await settled(call)).toEqual([]);
    expect(engine.turns).toEqual([]);
  });

  test('while the engine thinks', async () => {
    const engine = await openEngine(() => undefined);
    const pools = openPools();
    const call = send(pools, engine.config);
    await until(() => engine.turns.length === 1);
    call.control.cut();
    await closed(engine.sockets[0]!);
    expect(await settled(call)).toEqual(['sent']);
  });

  test('in the middle of the answer', async () => {
    const engine = await openEngine(({ socket }) => void socket.write(`${OK}content-length: 9\r\n\r\nabc`));
    const pools = openPools();
    const call = send(pools, engine.config);
    await until(() => call.received === 3);
    call.control.cut();
    await closed(engine.sockets[0]!);
    expect(await settled(call)).toEqual(['sent', 'head', 'data']);
  });

  test.each(['sent', 'head', 'data'] as const)('in the very event: %s', async (when) => {
    const engine = await openEngine(
      ({ socket, connection }) => void socket.write(answer(`whole ${connection}`)),
    );
    const pools = openPools();
    const call = send(pools, engine.config, {}, (event, { control }) => {
      if (event === when) control.cut();
    });
    await until(() => engine.sockets.length === 1);
    await closed(engine.sockets[0]!);
    expect((await settled(call)).at(-1)).toBe(when);
    expect((await ask(pools, engine.config)).text).toBe('whole 1');
  });

  test('but not the next call of its connection, when it is cut behind its end', async () => {
    const engine = await openEngine(({ socket, nth }) => void (nth === 0 && socket.write(answer('first'))));
    const pools = openPools();
    const first = await ask(pools, engine.config);
    const second = send(pools, engine.config);
    await until(() => engine.turns.length === 2);
    first.control.cut();
    await pause(30);
    engine.sockets[0]!.write(answer('second'));
    expect((await second.over).text).toBe('second');
  });
});
