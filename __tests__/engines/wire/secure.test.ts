/** Engines behind TLS: who is believed, and that all else is as without. */
import type { LookupFunction } from 'node:net';
import { answer, ask, closed, engineAt, openEngine, openPools, type Turn } from './raw-engine';
import { trustCertificate } from './trust';

function numbered({ socket, connection }: Turn): void {
  socket.write(answer(String(connection)));
}

/** Every name is this machine. */
const HERE: LookupFunction = (_host, options, done) => {
  if (options.all === true) done(null, [{ address: '127.0.0.1', family: 4 }]);
  else done(null, '127.0.0.1', 4);
};

test('a certificate that nobody has vouched for is not believed, and nothing is sent', async () => {
  const engine = await openEngine(numbered, { secure: true });
  const call = await ask(openPools(), engine.config, { headers: { authorization: 'Bearer secret' } });
  expect(call.events).toEqual(['fail']);
  expect(call.error).toMatchObject({
    failure: 'unreachable',
    message: expect.stringContaining('DEPTH_ZERO_SELF_SIGNED_CERT'),
  });
  expect(engine.turns).toEqual([]);
});

test('a certificate of another name is not believed', async () => {
  trustCertificate();
  const engine = await openEngine(numbered, { secure: true });
  const call = await ask(openPools({ lookup: HERE }), engineAt(engine.port, 'other.test', true));
  expect(call.events).toEqual(['fail']);
  expect(call.error).toMatchObject({
    failure: 'unreachable',
    message: expect.stringContaining('ERR_TLS_CERT_ALTNAME_INVALID'),
  });
  expect(engine.turns).toEqual([]);
});

test('a believed engine is served by name, told its name, and its connection is used again', async () => {
  const { opened } = trustCertificate();
  const engine = await openEngine(numbered, { secure: true });
  const pools = openPools({ lookup: HERE });
  const config = engineAt(engine.port, 'localhost', true);
  for (let i = 0; i < 3; i++) expect((await ask(pools, config)).text).toBe('0');
  expect(opened.map(({ options }) => [options.servername, options.rejectUnauthorized])).toEqual([
    ['localhost', undefined],
  ]);
  expect(opened[0]!.socket.alpnProtocol).toBe(false);
  engine.sockets[0]!.end();
  await closed(engine.sockets[0]!);
  expect((await ask(pools, config)).text).toBe('1');
});

test('an address is no name to choose a certificate by', async () => {
  const { opened } = trustCertificate();
  const engine = await openEngine(numbered, { secure: true });
  expect((await ask(openPools(), engine.config)).text).toBe('0');
  expect(opened.map(({ options }) => options.servername)).toEqual([undefined]);
});

test('small packets are not held back, and a silent peer is probed, as without TLS', async () => {
  const { opened } = trustCertificate();
  const engine = await openEngine(numbered, { secure: true });
  const pools = openPools();
  const asked: [string, unknown[]][] = [];
  const asking = ask(pools, engine.config);
  const { socket } = opened[0]!;
  for (const name of ['setNoDelay', 'setKeepAlive'] as const) {
    const real = socket[name].bind(socket) as (...args: unknown[]) => typeof socket;
    socket[name] = ((...args: unknown[]) => {
      asked.push([name, args]);
      return real(...args);
    }) as never;
  }
  await asking;
  expect(asked).toEqual([
    ['setNoDelay', [true]],
    ['setKeepAlive', [true, 60_000]],
  ]);
});

test('an engine that speaks no TLS is no engine', async () => {
  const engine = await openEngine(() => undefined, {
    onSocket: (socket) => {
      socket.once('data', () => void socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
      return false;
    },
  });
  const call = await ask(openPools(), engineAt(engine.port, '127.0.0.1', true));
  expect(call.events).toEqual(['fail']);
  expect(call.error?.failure).toBe('unreachable');
});

test('an engine that never ends its handshake is not connected in time', async () => {
  const engine = await openEngine(() => undefined, { onSocket: () => false });
  const call = await ask(openPools({ connectTimeoutS: 0.1 }), engineAt(engine.port, '127.0.0.1', true));
  expect(call.events).toEqual(['fail']);
  expect(call.error).toMatchObject({ failure: 'connect_timeout' });
});
