/** A client that leaves, at every moment of a request: the leg is cut, the seat is free, one row says when. */
import { connect } from 'node:net';
import type { RequestHandler } from 'express';
import type { JournalRow } from '../../lib/index';
import { StreamClient } from '../integration/stream-client';
import { BODY, CHAT, startGateway, until, type WatchedGateway } from './gateway';

const STREAM = { ...BODY, stream: true };

function client(gateway: WatchedGateway, body: object = STREAM): StreamClient {
  return new StreamClient(gateway.url + CHAT, body);
}

/** The one row of a request whose client left. */
async function cancelledRow(gateway: WatchedGateway): Promise<JournalRow> {
  await until(() => gateway.journal.rows.length > 0 && gateway.router.state().in_flight === 0);
  expect(gateway.journal.rows).toHaveLength(1);
  const row = gateway.journal.rows[0]!;
  expect(row).toMatchObject({ terminal: 'cancelled', reason: 'client_closed', status: 499 });
  return row;
}

describe('a client that leaves', () => {
  it('while it uploads reaches no engine', async () => {
    const gateway = await startGateway();
    const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1');
    socket.write(`POST ${CHAT} HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{"messages":`);
    await until(() => gateway.router.state().in_flight === 1);
    socket.destroy();
    expect(await cancelledRow(gateway)).toMatchObject({ cancelled_phase: 'upload', attempts: 0, kv: null });
    expect(gateway.fleet.calls).toEqual([]);
  });

  it('while it waits in the queue leaves its place to the next', async () => {
    const gateway = await startGateway({
      file: { serving: { max_connections: 1, queue_capacity: 2, queue_timeout_s: 10 } },
    });
    gateway.fleet.script = { leg: 'decode', hangAfterFrames: 3 };
    const first = client(gateway);
    await first.sees('nonce-abc');
    const second = client(gateway);
    await until(() => gateway.router.state().queued === 1);
    second.leave();
    expect(await rowOf(gateway, 1)).toMatchObject({ cancelled_phase: 'queue', attempts: 0 });
    expect(gateway.router.state()).toMatchObject({ seats_taken: 1, queued: 0 });
    gateway.fleet.script = undefined;
    first.leave();
    expect((await gateway.post(BODY)).status).toBe(200);
  });

  it.each([true, false])('in prefill has that leg cut, and no decode leg (stream: %s)', async (stream) => {
    const gateway = await startGateway();
    gateway.fleet.script = { leg: 'prefill', hang: true };
    const leaving = client(gateway, { ...BODY, stream });
    await until(() => gateway.legs('p0').length === 1);
    leaving.leave();
    await until(() => gateway.legs('p0')[0]!.closedEarly);
    expect(await cancelledRow(gateway)).toMatchObject({ cancelled_phase: 'prefill', kv: null, attempts: 1 });
    expect(gateway.legs('d0')).toEqual([]);
  });

  it.each([true, false])('before the first token has the decode leg cut (stream: %s)', async (stream) => {
    const gateway = await startGateway();
    gateway.fleet.script = { leg: 'decode', hangAfterFrames: 1 };
    const leaving = client(gateway, { ...BODY, stream });
    await until(() => gateway.legs('d0')[0]?.framesSent === 1);
    leaving.leave();
    await until(() => gateway.legs('d0')[0]!.closedEarly);
    const row = await cancelledRow(gateway);
    expect(row).toMatchObject({ cancelled_phase: 'decode', first_byte_s: null, prefill_iid: 'p0' });
  });

  it('in mid-stream has the decode leg cut; the row keeps what was served', async () => {
    const gateway = await startGateway();
    gateway.fleet.script = { leg: 'decode', hangAfterFrames: 3 };
    const leaving = client(gateway);
    await leaving.sees('nonce-abc');
    leaving.leave();
    await until(() => gateway.legs('d0')[0]!.closedEarly);
    const row = await cancelledRow(gateway);
    expect(row).toMatchObject({
      cancelled_phase: 'decode',
      prefill_iid: 'p0',
      decode_iid: 'd0',
      kv: 'claimed',
    });
    // The first word and the nonce.
    expect(row.output_len).toBe(2);
    expect(row.ttft_s).toBeGreaterThan(0);
    expect(row.first_byte_s).toBeGreaterThanOrEqual(row.ttft_s!);
  });

  it('while it does not read has the decode leg cut', async () => {
    const gateway = await startGateway();
    gateway.fleet.script = { leg: 'decode', endless: { bytesPerFrame: 20_000, totalBytes: 60e6 } };
    const leaving = client(gateway);
    await leaving.sees('xxx');
    leaving.pause();
    await until(() => gateway.legs('d0')[0]!.paused);
    leaving.leave();
    await until(() => gateway.legs('d0')[0]!.closedEarly);
    expect(await cancelledRow(gateway)).toMatchObject({ cancelled_phase: 'decode' });
  });

  it('right after the last delta has the decode leg cut', async () => {
    const gateway = await startGateway();
    gateway.fleet.script = { leg: 'decode', generation: { content: ['one', 'last'] }, hangAfterFrames: 3 };
    const leaving = client(gateway);
    await leaving.sees('last');
    leaving.leave();
    await until(() => gateway.legs('d0')[0]!.closedEarly);
    expect(await cancelledRow(gateway)).toMatchObject({ cancelled_phase: 'decode' });
  });

  it('once it has [DONE] has had its answer: the row is a completed one', async () => {
    const gateway = await startGateway();
    for (let i = 0; i < 20; i++) {
      const leaving = client(gateway);
      await leaving.sees('[DONE]');
      leaving.leave();
    }
    for (const row of await gateway.journal.waitForRows(20)) {
      expect(row).toMatchObject({ terminal: 'completed', cancelled_phase: null, status: 200 });
    }
  });

  it('in the wait before a retry gets no further attempt', async () => {
    const random = jest.spyOn(Math, 'random').mockReturnValue(0.9);
    try {
      const gateway = await startGateway({
        stub: { prefill: 2, decode: 2 },
        file: { serving: { retry_base_s: 1000, retry_cap_s: 1000, request_timeout_s: 5000 } },
      });
      gateway.fleet.script = { leg: 'decode', times: 1, status: 500 };
      const leaving = client(gateway);
      // The failed attempt is over when its handoff has been reclaimed.
      await until(() => gateway.router.state().handoffs.reclaimed === 1);
      leaving.leave();
      expect(await cancelledRow(gateway)).toMatchObject({ cancelled_phase: 'backoff', attempts: 1 });
      expect(gateway.legs()).toHaveLength(2);
    } finally {
      random.mockRestore();
    }
  });
});

async function rowOf(gateway: WatchedGateway, count: number): Promise<JournalRow> {
  return (await gateway.journal.waitForRows(count))[count - 1]!;
}

describe('a client that leaves between the legs', () => {
  /** Blocks the process in the tick in which the gateway hears that the client is gone. */
  function stall(ms: number): RequestHandler {
    return (_req, res, next) => {
      res.once('close', () => {
        const end = performance.now() + ms;
        while (performance.now() < end);
      });
      next();
    };
  }

  it('as the prefill answer arrives has its handoff reclaimed', async () => {
    const gateway = await startGateway({ stub: { decode: 2 }, before: [stall(300)] });
    gateway.fleet.script = { leg: 'prefill', delayMs: 150 };
    const leaving = client(gateway);
    await until(() => gateway.legs('p0').length === 1);
    // The engine's answer falls into the time in which the process is blocked by the leaving.
    leaving.leave();
    const row = await cancelledRow(gateway);
    expect(row).toMatchObject({ cancelled_phase: 'handoff', kv: 'reclaimed', decode_attempts: 0 });
    expect(gateway.reclaims().map(({ requestId }) => requestId)).toEqual([`${row.rid}-a1-reclaim`]);
    expect(gateway.fleet.ledger).toMatchObject({ produced: 1, released: 1 });
    expect(gateway.legs()).toHaveLength(1);
  });

  it('in the very tick in which the engine ends its answer leaves nothing unseen', async () => {
    const gateway = await startGateway({ stub: { decode: 2 } });
    for (let i = 0; i < 30; i++) {
      const leaving = client(gateway);
      gateway.fleet.script = { leg: 'prefill', onHandoff: () => leaving.leave() };
      const row = await rowOf(gateway, i + 1);
      expect(row).toMatchObject({ terminal: 'cancelled', status: 499 });
      expect(['handoff', 'decode']).toContain(row.cancelled_phase);
      expect(row.kv).not.toBeNull();
    }
  });
});
