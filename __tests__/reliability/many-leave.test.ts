/** Many clients that leave: no seat, no listener and no bad word about an engine is left behind. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { StreamClient } from '../integration/stream-client';
import { BODY, CHAT, startGateway, until, type WatchedGateway } from './gateway';

const STREAM = { ...BODY, stream: true };

function client(gateway: WatchedGateway): StreamClient {
  return new StreamClient(gateway.url + CHAT, STREAM);
}

describe('many clients that leave', () => {
  it('give their seats back: the next one is admitted', async () => {
    const gateway = await startGateway({ file: { serving: { max_connections: 2 } } });
    gateway.fleet.script = { leg: 'decode', hangAfterFrames: 3 };
    for (let pair = 0; pair < 5; pair++) {
      const clients = [client(gateway), client(gateway)];
      await Promise.all(clients.map((one) => one.sees('nonce-abc')));
      expect((await gateway.post(BODY)).status).toBe(429);
      for (const one of clients) one.leave();
      await until(() => gateway.router.state().seats_taken === 0);
    }
    gateway.fleet.script = undefined;
    expect((await gateway.post(BODY)).status).toBe(200);
  });

  it('say nothing against the engines', async () => {
    const gateway = await startGateway({ stub: { decode: 2 } });
    gateway.fleet.script = { leg: 'decode', hangAfterFrames: 3 };
    for (let i = 0; i < 30; i++) {
      const leaving = client(gateway);
      await leaving.sees('nonce-abc');
      leaving.leave();
      await leaving.end();
    }
    await gateway.journal.waitForRows(30);
    for (const { state, ejections } of gateway.router.state().engines) {
      expect({ state, ejections }).toEqual({ state: 'live', ejections: 0 });
    }
  });
});

describe('two hundred streams on kept connections, a fifth of them aborted', () => {
  it('leave no listener behind and nothing is written after the end', async () => {
    const warnings: string[] = [];
    const warn = ({ name }: Error): void => void warnings.push(name);
    process.on('warning', warn);
    const gateway = await startGateway();
    const counts = new Map<object, number>();
    const grown: number[] = [];
    gateway.server.on('request', (req, res) => {
      // Counted as each request comes: what an earlier one on this socket left would show.
      const { socket } = req;
      const now = socket.eventNames().reduce((sum, name) => sum + socket.listenerCount(name), 0);
      grown.push(now - (counts.get(socket) ?? now));
      if (!counts.has(socket)) counts.set(socket, now);
      res.on('error', (error) => warnings.push(error.message));
    });
    const raw = new KeptConnection(gateway.url);
    for (let i = 0; i < 200; i++) {
      const aborts = i % 5 === 4;
      gateway.fleet.script = aborts ? { leg: 'decode', hangAfterFrames: 3 } : undefined;
      await raw.stream(aborts);
    }
    await gateway.journal.waitForRows(200);
    expect(gateway.journal.rows.filter(({ terminal }) => terminal === 'cancelled')).toHaveLength(40);
    expect(Math.max(...grown)).toBe(0);
    expect(counts.size).toBe(40);
    process.off('warning', warn);
    expect(warnings).toEqual([]);
    raw.close();
  });
});

/** One client connection, opened anew after each abort. */
class KeptConnection {
  readonly #port: number;
  #socket: ReturnType<typeof connect> | null = null;

  constructor(url: string) {
    this.#port = Number(new URL(url).port);
  }

  async stream(aborts: boolean): Promise<void> {
    this.#socket ??= connect(this.#port, '127.0.0.1').on('error', () => undefined);
    const socket = this.#socket;
    const body = JSON.stringify(STREAM);
    let text = '';
    const read = (piece: Buffer): void => {
      text += piece.toString('latin1');
    };
    socket.on('data', read);
    socket.write(`POST ${CHAT} HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
    await until(() => text.includes(aborts ? 'nonce-abc' : '\r\n0\r\n\r\n'));
    socket.off('data', read);
    if (!aborts) return;
    socket.destroy();
    this.#socket = null;
    await once(socket, 'close');
  }

  close(): void {
    this.#socket?.destroy();
  }
}
