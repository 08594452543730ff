/** Which connection carries a call: one that is good, the latest first, and none that is doubtful. */
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
  type Turn,
  until,
} from './raw-engine';

/** Answers each request with the number of its connection, and what the fields say. */
function numbered(fields = '', head = OK) {
  return ({ socket, connection }: Turn): void => {
    socket.write(answer(String(connection), fields).replace(OK, head));
  };
}

describe('a connection whose answer was whole', () => {
  test('carries the next call, and the one after it', async () => {
    const engine = await openEngine(numbered());
    const pools = openPools();
    for (let i = 0; i < 3; i++) expect((await ask(pools, engine.config)).text).toBe('0');
    expect(engine.turns.map(({ nth }) => nth)).toEqual([0, 1, 2]);
  });

  test('carries it after chunks, a 204, a 304 and interim answers', async () => {
    const answers = [
      `${OK}transfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nx-t: 1\r\n\r\n`,
      'HTTP/1.1 204 No Content\r\n\r\n',
      'HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\n\r\n',
      `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n${answer('last')}`,
    ];
    const engine = await openEngine(({ socket, nth }) => socket.write(answers[nth]!));
    const pools = openPools();
    const heard: [number, string][] = [];
    for (const _ of answers) {
      const call = await ask(pools, engine.config);
      heard.push([call.status, call.text]);
    }
    expect(heard).toEqual([
      [200, 'abc'],
      [204, ''],
      [304, ''],
      [200, 'last'],
    ]);
    expect(engine.sockets).toHaveLength(1);
  });

  test('may carry answers of which only the bodies differ', async () => {
    const bodies = ['one', 'two', 'two', 'six'];
    const engine = await openEngine(
      ({ socket, nth }) => void socket.write(answer(bodies[nth]!, 'x-a: b\r\n')),
    );
    const pools = openPools();
    for (const body of bodies) {
      const { text, status, headers } = await ask(pools, engine.config);
      expect([text, status, headers?.get('x-a')]).toEqual([body, 200, 'b']);
    }
    expect(engine.sockets).toHaveLength(1);
  });

  test('is taken before one that has been free for longer', async () => {
    const held: Turn[] = [];
    const engine = await openEngine((turn) => {
      if (turn.nth === 0) held.push(turn);
      else numbered()(turn);
    });
    const pools = openPools();
    const calls = [0, 1, 2].map(() => send(pools, engine.config));
    await until(() => held.length === 3);
    for (const at of [1, 2, 0]) {
      numbered()(held[at]!);
      await until(
        () => calls.filter(({ events }) => events.includes('end')).length === [1, 2, 0].indexOf(at) + 1,
      );
    }
    const order: string[] = [];
    const again = [0, 1, 2].map(() => send(pools, engine.config));
    for (const call of again) order.push((await call.over).text);
    expect(order).toEqual([held[0]!, held[2]!, held[1]!].map(({ connection }) => String(connection)));
  });

  test('is given to the very call that is made when the answer ends', async () => {
    const engine = await openEngine(numbered());
    const pools = openPools();
    let second = '';
    const first = send(pools, engine.config, {}, (event) => {
      if (event === 'end') void ask(pools, engine.config).then(({ text }) => (second = text));
    });
    await first.over;
    await until(() => second !== '');
    expect(second).toBe('0');
  });
});

describe('a connection is not used again', () => {
  test.each([
    ['when the engine says close', numbered('connection: close\r\n')],
    ['when it says so in its second connection field', numbered('connection: x\r\nConnection: Close\r\n')],
    ['with HTTP/1.0', numbered('', 'HTTP/1.0 200 OK\r\n')],
    ['when the engine keeps free ones for a second at most', numbered('Keep-Alive: Timeout=1, max=100\r\n')],
    [
      'when bytes come behind the answer',
      ({ socket, connection }: Turn) => void socket.write(`${answer(String(connection))}x`),
    ],
  ])('%s', async (_when, onTurn) => {
    const engine = await openEngine(onTurn);
    const pools = openPools();
    for (const text of ['0', '1', '2']) {
      const call = await ask(pools, engine.config);
      expect([call.text, call.events]).toEqual([text, ['sent', 'head', 'data', 'end']]);
    }
    await closed(engine.sockets[0]!);
  });

  test('when its body went on until the engine closed it', async () => {
    const engine = await openEngine(
      ({ socket, connection }) => void socket.end(`${OK}\r\nno length ${connection}`),
    );
    const pools = openPools();
    expect((await ask(pools, engine.config)).text).toBe('no length 0');
    expect((await ask(pools, engine.config)).text).toBe('no length 1');
  });

  test('when it has been free for too long, and it is closed without a call', async () => {
    const engine = await openEngine(numbered());
    const pools = openPools({ keepaliveS: 0.05 });
    await ask(pools, engine.config);
    await closed(engine.sockets[0]!);
    expect((await ask(pools, engine.config)).text).toBe('1');
    await pause(60);
    expect((await ask(pools, engine.config)).text).toBe('2');
  });

  test('when it has reached its age, however busy it is', async () => {
    const engine = await openEngine(numbered());
    const pools = openPools({ maxSocketAgeS: 0.1 });
    let text = '0';
    for (; text === '0'; text = (await ask(pools, engine.config)).text) await pause(5);
    expect(text).toBe('1');
    await closed(engine.sockets[0]!);
  });

  test('when the engine has closed it, and no call is lost by it', async () => {
    const engine = await openEngine(numbered());
    const pools = openPools();
    await ask(pools, engine.config);
    engine.sockets[0]!.end();
    await closed(engine.sockets[0]!);
    const call = await ask(pools, engine.config);
    expect([call.text, call.events]).toEqual(['1', ['sent', 'head', 'data', 'end']]);
    expect(engine.turns).toHaveLength(2);
  });

  test('when the engine speaks unasked, and its words are no answer to the next call', async () => {
    const engine = await openEngine(numbered());
    const pools = openPools();
    await ask(pools, engine.config);
    engine.sockets[0]!.write(answer('poison'));
    await closed(engine.sockets[0]!);
    expect((await ask(pools, engine.config)).text).toBe('1');
  });

  test('when the answer came before the request was read whole', async () => {
    const engine = await openEngine(numbered(), {
      onSocket: (socket, connection) => {
        if (connection > 0) return undefined;
        socket.once('data', () => {
          socket.pause();
          socket.write(answer('too much'));
        });
        return false;
      },
    });
    const pools = openPools();
    const call = await ask(pools, engine.config, { body: Buffer.alloc(20e6) });
    expect([call.text, call.events]).toEqual(['too much', ['sent', 'head', 'data', 'end']]);
    expect((await ask(pools, engine.config)).text).toBe('1');
  });
});

describe('an engine that closes a free connection just as a call goes out on it', () => {
  /** Answers the first request of the first connection; at its second it breaks the connection. */
  async function openBreaker(breakIt: (turn: Turn) => void) {
    return openEngine((turn) => {
      if (turn.connection === 0 && turn.nth === 1) breakIt(turn);
      else numbered()(turn);
    });
  }

  test.each([
    ['closes', ({ socket }: Turn) => void socket.end()],
    ['resets', ({ socket }: Turn) => void socket.resetAndDestroy()],
  ])('the call is sent again, unseen, where it %s', async (_how, breakIt) => {
    const engine = await openBreaker(breakIt);
    const pools = openPools();
    await ask(pools, engine.config);
    const call = await ask(pools, engine.config, { body: Buffer.from('twice') });
    expect([call.text, call.events]).toEqual(['1', ['sent', 'head', 'data', 'end']]);
    expect(engine.turns.map(({ body }) => body.toString())).toEqual(['', 'twice', 'twice']);
  });

  test('it is sent again once only', async () => {
    const engine = await openEngine((turn) => {
      if (turn.connection === 0 && turn.nth === 0) numbered()(turn);
      else turn.socket.end();
    });
    const pools = openPools();
    await ask(pools, engine.config);
    const call = await ask(pools, engine.config);
    expect(call.events).toEqual(['sent', 'fail']);
    expect(call.error).toMatchObject({ failure: 'connection', message: 'the engine closed the connection' });
    expect(engine.turns).toHaveLength(3);
  });

  test('it is not sent again behind a head', async () => {
    const engine = await openBreaker(({ socket }) => void socket.end(`${OK}content-length: 9\r\n\r\n`));
    const pools = openPools();
    await ask(pools, engine.config);
    expect((await ask(pools, engine.config)).events).toEqual(['sent', 'head', 'fail']);
    expect(engine.turns).toHaveLength(2);
  });

  test('it is not sent again where the caller has cut it', async () => {
    const engine = await openBreaker(() => undefined);
    const pools = openPools();
    await ask(pools, engine.config);
    const call = send(pools, engine.config);
    await until(() => engine.turns.length === 2);
    call.control.cut();
    await closed(engine.sockets[0]!);
    await ask(pools, engine.config);
    expect(engine.turns).toHaveLength(3);
    expect(call.events).toEqual(['sent']);
  });
});

test('pools of one process share nothing', async () => {
  const engine = await openEngine(numbered());
  expect((await ask(openPools(), engine.config)).text).toBe('0');
  expect((await ask(openPools(), engineAt(engine.port))).text).toBe('1');
});
