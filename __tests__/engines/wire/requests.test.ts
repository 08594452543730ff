/** What goes over the wire, byte for byte, and what is never sent. */
import { randomBytes } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { closeLater } from '../../helpers/close-all';
import { answer, ask, OK, openEngine, openPools, send, type Turn } from './raw-engine';

const FIVE_MB = randomBytes(5 << 20);

function echo({ socket, body }: Turn): void {
  socket.write(`${OK}content-length: ${body.length}\r\n\r\n`);
  socket.write(body);
}

test('a request is its line, its host, its fields and its length, and nothing of our own else', async () => {
  const engine = await openEngine(({ socket }) => void socket.write(answer('x')));
  const pools = openPools();
  const headers = { 'content-type': 'application/json', 'x-request-id': 'r1', 'x-high': '\xe4\xff' };
  await ask(
    pools,
    { ...engine.config, prefix: '/a/b' },
    { path: '/v1/completions?x=%20', headers, body: Buffer.from('{}') },
  );
  await ask(pools, engine.config, { path: '/health' });
  await ask(pools, engine.config, { method: 'POST' });
  const host = `host: 127.0.0.1:${engine.port}\r\nconnection: keep-alive\r\n`;
  expect(engine.turns.map(({ head }) => head)).toEqual([
    `POST /a/b/v1/completions?x=%20 HTTP/1.1\r\n${host}content-type: application/json\r\nx-request-id: r1\r\nx-high: \xe4\xff\r\ncontent-length: 2\r\n`,
    `GET /health HTTP/1.1\r\n${host}`,
    `POST / HTTP/1.1\r\n${host}content-length: 0\r\n`,
  ]);
});

test('fields that say where a request ends are ours alone', async () => {
  const engine = await openEngine(({ socket }) => void socket.write(answer('x')));
  const headers = {
    host: 'evil',
    connection: 'close',
    'content-length': '1',
    'transfer-encoding': 'chunked',
    expect: '100-continue',
  };
  await ask(openPools(), engine.config, { headers, body: Buffer.from('four') });
  expect(engine.turns[0]!.head).toBe(
    `POST / HTTP/1.1\r\nhost: 127.0.0.1:${engine.port}\r\nconnection: keep-alive\r\ncontent-length: 4\r\n`,
  );
});

describe('a request that would be another one on the wire is refused, and nothing is sent', () => {
  test.each([
    [
      'a value with a line end',
      { headers: { 'x-a': 'secret\r\nx-b: 2' } },
      'the header field x-a cannot be sent',
    ],
    [
      'a value with a line feed',
      { headers: { 'x-a': 'secret\nx-b: 2' } },
      'the header field x-a cannot be sent',
    ],
    [
      'a value with a carriage return',
      { headers: { 'x-a': 'secret\r' } },
      'the header field x-a cannot be sent',
    ],
    [
      'a value that is no text',
      { headers: { 'x-a': { length: 0, toString: () => 'secret' } as unknown as string } },
      'the header field x-a cannot be sent',
    ],
    ['a value with DEL', { headers: { 'x-a': 'secret\x7f' } }, 'the header field x-a cannot be sent'],
    ['a value with NUL', { headers: { 'x-a': 'secret\0' } }, 'the header field x-a cannot be sent'],
    [
      'a value of characters that are no bytes',
      { headers: { 'x-a': 'secret\u010d\u010a' } },
      'the header field x-a cannot be sent',
    ],
    ['a name with a blank', { headers: { 'x a': 'secret' } }, 'the header field x a cannot be sent'],
    ['a name with a colon', { headers: { 'x:': 'secret' } }, 'the header field x: cannot be sent'],
    ['a name that is empty', { headers: { '': 'secret' } }, 'the header field  cannot be sent'],
    [
      'a path with a line end',
      { path: '/secret HTTP/1.1\r\nx-b: 2\r\n\r\n' },
      'the path of the call cannot be sent',
    ],
    ['a path with a blank', { path: '/secret x' }, 'the path of the call cannot be sent'],
    [
      'a path of characters that are no bytes',
      { path: '/secret\u010d\u010a' },
      'the path of the call cannot be sent',
    ],
    [
      'a path that is a whole address',
      { path: 'http://other.test/secret' },
      'the path of the call cannot be sent',
    ],
  ])('%s', async (_what, call, message) => {
    const engine = await openEngine(({ socket }) => void socket.write(answer('x')));
    const pools = openPools();
    await ask(pools, engine.config);
    const refused = send(pools, engine.config, call);
    // Not before the caller has a hold of it.
    expect(refused.events).toEqual([]);
    await refused.over;
    expect(refused.events).toEqual(['fail']);
    expect(refused.error).toMatchObject({ failure: 'connection', message });
    expect(engine.turns).toHaveLength(1);
    expect((await ask(pools, engine.config)).text).toBe('x');
    expect(engine.sockets).toHaveLength(1);
  });
});

describe('bodies', () => {
  test.each([
    ['none', Buffer.alloc(0)],
    ['one byte', FIVE_MB.subarray(0, 1)],
    ['what goes in one write with its head', FIVE_MB.subarray(0, 16 * 1024)],
    ['a byte more', FIVE_MB.subarray(0, 16 * 1024 + 1)],
    ['5 MB', FIVE_MB],
  ])('%s: arrives and comes back as it was', async (_size, body) => {
    const engine = await openEngine(echo);
    const pools = openPools();
    for (let i = 0; i < 2; i++) {
      const call = await ask(pools, engine.config, { body });
      expect(engine.turns[i]!.body.equals(body)).toBe(true);
      expect(call.body.equals(body)).toBe(true);
    }
    expect(engine.sockets).toHaveLength(1);
  });

  test('in parts arrives as one', async () => {
    const engine = await openEngine(echo);
    const parts = [0, 7, 7, 100_000, 3 << 20].map((from, i, all) =>
      FIVE_MB.subarray(from, all[i + 1] ?? FIVE_MB.length),
    );
    const call = await ask(openPools(), engine.config, { body: parts });
    expect(engine.turns[0]!.head).toContain(`\r\ncontent-length: ${FIVE_MB.length}\r\n`);
    expect(call.body.equals(FIVE_MB)).toBe(true);
  });

  test('of a hundred calls at once stay apart', async () => {
    const engine = await openEngine(echo);
    const pools = openPools();
    const bodies = Array.from({ length: 100 }, (_, i) => randomBytes(1 + i * 2000));
    for (let round = 0; round < 2; round++) {
      const calls = await Promise.all(bodies.map((body) => ask(pools, engine.config, { body })));
      expect(calls.filter(({ body }, i) => !body.equals(bodies[i]!))).toEqual([]);
    }
    expect(engine.sockets).toHaveLength(100);
  });

  test('that come in many reads at once, through the one buffer, stay apart', async () => {
    const engine = await openEngine(({ socket, head }) => {
      const letter = head[5]!;
      let left = 200;
      const next = (): void => {
        socket.write(`1f4\r\n${letter.repeat(500)}\r\n`);
        if (--left > 0) setImmediate(next);
        else socket.write('0\r\n\r\n');
      };
      socket.write(`${OK}transfer-encoding: chunked\r\n\r\n`);
      next();
    });
    const pools = openPools();
    const letters = [...'abcdefghij'];
    const calls = await Promise.all(
      letters.map((letter) => ask(pools, engine.config, { path: `/${letter}` })),
    );
    expect(calls.map(({ text }) => text === text[0]!.repeat(100_000) && text[0])).toEqual(letters);
  });
});

test('the proxies of the environment are not asked', async () => {
  const server = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  let asked = 0;
  server.on('connection', () => asked++);
  const proxy = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const names = [
    'HTTP_PROXY',
    'http_proxy',
    'HTTPS_PROXY',
    'https_proxy',
    'ALL_PROXY',
    'all_proxy',
    'NODE_USE_ENV_PROXY',
  ];
  const before = names.map((name) => [name, process.env[name]] as const);
  closeLater({
    close() {
      for (const [name, value] of before) {
        if (value === undefined) delete process.env[name];
        else process.env[name] = value;
      }
      return new Promise((resolve) => server.close(resolve));
    },
  });
  for (const name of names) process.env[name] = name.startsWith('NODE') ? '1' : proxy;
  const engine = await openEngine(({ socket }) => void socket.write(answer('straight')));
  expect((await ask(openPools(), engine.config)).text).toBe('straight');
  expect(asked).toBe(0);
});
