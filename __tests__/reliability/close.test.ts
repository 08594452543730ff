/** The end of a gateway: no new work, time for what runs, an end for what is left, and nothing open. */
import { Agent } from 'node:http';
import { connect } from 'node:net';
import { parseSse } from '../helpers/parse-sse';
import { StreamClient } from '../integration/stream-client';
import { send } from '../testing/client';
import { BODY, CHAT, errorOf, startGateway, until } from './gateway';

const STREAM = { ...BODY, stream: true };

describe('close()', () => {
  it('turns /ready first, refuses new work, and lets streams finish', async () => {
    const gateway = await startGateway({ router: { closeTimeoutS: 20 } });
    gateway.fleet.script = { leg: 'decode', frameDelayMs: 60 };
    const streams = [1, 2, 3].map(() => new StreamClient(gateway.url + CHAT, STREAM));
    await Promise.all(streams.map((stream) => stream.sees('Heard')));
    const closed = gateway.router.close();
    const ready = await send(`${gateway.url}/ready`, { method: 'GET' });
    expect(ready).toMatchObject({ status: 503, text: '{"ready":false,"reason":"shutting_down"}' });
    const health = await send(`${gateway.url}/health`, { method: 'GET' });
    expect(health.status).toBe(200);
    expect(health.text).toContain('"draining"');
    const agent = new Agent({ keepAlive: true });
    const refused = await send(gateway.url + CHAT, { body: JSON.stringify(BODY), agent });
    agent.destroy();
    expect(refused.status).toBe(503);
    expect(errorOf(refused)).toMatchObject({ type: 'shutting_down', code: 'shutting_down' });
    expect(refused.headers).toMatchObject({ connection: 'close', 'retry-after': '1' });
    await closed;
    for (const stream of streams) {
      await stream.end();
      expect(parseSse(stream.text).done).toBe(true);
    }
    const terminals = gateway.journal.rows.map(({ terminal }) => terminal).sort();
    expect(terminals).toEqual(['completed', 'completed', 'completed', 'rejected']);
    expect(gateway.journal.closed).toBe(true);
    await until(() => gateway.fleet.engines.every(({ openSockets }) => openSockets === 0));
  });

  it('is one and the same promise however often it is called', async () => {
    const gateway = await startGateway();
    const first = gateway.router.close();
    expect(gateway.router.close()).toBe(first);
    await first;
    expect(gateway.router.close()).toBe(first);
    expect((await gateway.post(BODY)).status).toBe(503);
  });

  it('ends at its deadline what still runs, each in its own form', async () => {
    const gateway = await startGateway({
      stub: { decode: 2 },
      router: { closeTimeoutS: 0.2 },
      file: { serving: { max_connections: 4, queue_capacity: 4, queue_timeout_s: 60 } },
    });
    gateway.fleet.script = { leg: 'decode', hangAfterFrames: 3 };
    const running = new StreamClient(gateway.url + CHAT, STREAM);
    await running.sees('nonce-abc');
    gateway.fleet.script = { leg: 'prefill', hang: true };
    const waiting = [BODY, STREAM].map((body) => gateway.post(body));
    await until(() => gateway.legs('p0').length === 3);
    const uploading = connect(Number(new URL(gateway.url).port), '127.0.0.1');
    let uploaded = '';
    uploading.on('data', (piece) => {
      uploaded += piece.toString();
    });
    uploading.on('error', () => undefined);
    uploading.write(`POST ${CHAT} HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{"messages":`);
    await until(() => gateway.router.state().in_flight === 4);

    await gateway.router.close();
    await running.end();
    const { frames, done } = parseSse(running.text);
    expect(done).toBe(false);
    expect(frames.at(-1)).toEqual({
      error: { message: 'the gateway is shutting down', type: 'decode', param: null, code: 'failed' },
    });
    for (const reply of await Promise.all(waiting)) {
      expect(reply.status).toBe(503);
      expect(errorOf(reply)).toMatchObject({ type: 'shutting_down' });
    }
    await until(() => uploaded.includes('"shutting_down"'));
    expect(uploaded).toContain('HTTP/1.1 503');
    uploading.destroy();
    expect(gateway.journal.rows).toHaveLength(4);
    for (const row of gateway.journal.rows) {
      expect(row).toMatchObject({ terminal: 'rejected', reason: 'shutting_down' });
    }
  });

  it('does not give a seat that comes free to one that waited for it', async () => {
    const gateway = await startGateway({
      file: { serving: { max_connections: 1, queue_capacity: 4, queue_timeout_s: 60 } },
    });
    gateway.fleet.script = { leg: 'prefill', hang: true };
    const replies = [gateway.post(BODY), gateway.post(BODY), gateway.post(BODY)];
    await until(() => gateway.router.state().queued === 2);
    await gateway.router.close();
    for (const { status } of await Promise.all(replies)) expect(status).toBe(503);
    expect(gateway.legs()).toHaveLength(1);
    expect(gateway.router.state()).toMatchObject({ seats_taken: 0, queued: 0, in_flight: 0 });
  });

  it('is not held up by a client that does not read', async () => {
    const gateway = await startGateway({ router: { closeTimeoutS: 0.1 } });
    gateway.fleet.script = { leg: 'decode', endless: { bytesPerFrame: 20_000, totalBytes: 60e6 } };
    const stuck = new StreamClient(gateway.url + CHAT, STREAM);
    await stuck.sees('xxx');
    stuck.pause();
    await until(() => gateway.legs('d0')[0]!.paused);
    await gateway.router.close();
    expect(gateway.journal.rows).toMatchObject([{ terminal: 'rejected', reason: 'shutting_down' }]);
    await until(() => gateway.legs('d0')[0]!.closedEarly);
    stuck.leave();
  });

  it('of one router leaves another in the same process alone', async () => {
    const one = await startGateway();
    const other = await startGateway();
    await one.router.close();
    expect((await one.post(BODY)).status).toBe(503);
    expect((await other.post(BODY)).status).toBe(200);
  });
});
