/** Who owns a handoff that no decode engine took: it is reclaimed, within bounds, or counted as left. */
import axios from 'axios';
import type { StubScript } from '../../lib/testing';
import { StreamClient } from '../integration/stream-client';
import { BODY, CHAT, startGateway, until } from './gateway';

const ONCE = { serving: { max_attempts: 1 } };
const isReclaim = (id: string): boolean => /-reclaim(-\d+)?$/.test(id);

/** A script for decode legs of requests, not for reclaim legs. */
function decodeOnly(script: StubScript) {
  return ({ leg, requestId }: { leg: string; requestId: string }): StubScript | undefined =>
    leg === 'decode' && !isReclaim(requestId) ? script : undefined;
}

describe.each([false, true])('a handoff that the decode engine refused (stream: %s)', (stream) => {
  it.each([400, 500, 503])('with %i is reclaimed by another engine, for one token', async (status) => {
    const gateway = await startGateway({ stub: { decode: 2 }, file: ONCE });
    gateway.fleet.script = decodeOnly({ status });
    await gateway.post({ ...BODY, stream, max_tokens: 50, tool_choice: 'auto', stop: ['x'] });
    const row = await gateway.row();
    expect(row).toMatchObject({ kv: 'reclaimed', attempts: 1 });
    const [call] = gateway.reclaims();
    expect(gateway.reclaims()).toHaveLength(1);
    expect(call!.requestId).toBe(`${row.rid}-a1-reclaim`);
    expect(call!.engine).not.toBe(row.decode_iid);
    expect(call!.json).toMatchObject({ max_tokens: 1, stream: false, messages: BODY.messages });
    expect(call!.json).not.toHaveProperty('stop');
    expect(gateway.fleet.ledger).toMatchObject({ produced: 1, released: 1, claimed: 0 });
    expect(gateway.stateOf('p0').handoffs).toEqual({
      produced: 1,
      held: 0,
      claimed: 0,
      reclaimed: 1,
      leased: 0,
    });
  });
});

describe('a handoff that nobody took', () => {
  it('because connections were refused is reclaimed by another engine', async () => {
    const gateway = await startGateway({ stub: { decode: 2 }, file: ONCE });
    await gateway.fleet.engine('d0').stop();
    await gateway.fleet.engine('d1').stop();
    await gateway.fleet.engine('d1').start();
    // Ties go round: one of two requests finds the closed port.
    await gateway.post(BODY);
    await gateway.post(BODY);
    const rows = await gateway.journal.waitForRows(2);
    expect(rows.map(({ kv }) => kv).sort()).toEqual(['claimed', 'reclaimed']);
    expect(gateway.reclaims().map(({ engine }) => engine)).toEqual(['d1']);
  });

  it('is offered to the only decode engine again where there is no other', async () => {
    const gateway = await startGateway({ file: ONCE });
    gateway.fleet.script = decodeOnly({ status: 500 });
    await gateway.post(BODY);
    expect(await gateway.row()).toMatchObject({ kv: 'reclaimed' });
    expect(gateway.reclaims().map(({ engine }) => engine)).toEqual(['d0']);
  });

  it('is left to its lease where no decode engine is in placement', async () => {
    const gateway = await startGateway();
    gateway.fleet.script = { leg: 'prefill', delayMs: 200 };
    const answer = gateway.post(BODY);
    await until(() => gateway.legs('p0').length === 1);
    await gateway.post({}, '/narwhal/engines/d0/drain');
    expect((await answer).status).toBe(503);
    expect(await gateway.row()).toMatchObject({ terminal: 'rejected', reason: 'no_engine', kv: 'leased' });
    expect(gateway.reclaims()).toEqual([]);
  });

  it('is never offered to an engine that is out of placement', async () => {
    const gateway = await startGateway({ stub: { decode: 2 } });
    await gateway.post({}, '/narwhal/engines/d1/drain');
    gateway.fleet.script = decodeOnly({ status: 400 });
    expect((await gateway.post(BODY)).status).toBe(400);
    expect(await gateway.row()).toMatchObject({ kv: 'reclaimed' });
    expect(gateway.fleet.engine('d1').calls).toEqual([]);
    expect(gateway.reclaims().map(({ engine }) => engine)).toEqual(['d0']);
  });

  it('because the deadline came before the decode leg was sent is reclaimed', async () => {
    const client = axios.create();
    client.interceptors.request.use(async (config) => {
      const id = String(config.headers.get('x-request-id'));
      if (id.endsWith('-decode')) await new Promise((resolve) => setTimeout(resolve, 600));
      return config;
    });
    const gateway = await startGateway({
      stub: { decode: 2 },
      file: { serving: { request_timeout_s: 0.3 } },
      router: { client },
    });
    expect((await gateway.post(BODY)).status).toBe(504);
    expect(await gateway.row()).toMatchObject({ terminal: 'expired', reason: 'deadline', kv: 'reclaimed' });
    expect(gateway.legs('d0').concat(gateway.legs('d1'))).toEqual([]);
  });

  it('is counted as left where the reclaim leg fails as well', async () => {
    const gateway = await startGateway({ stub: { decode: 2 }, file: ONCE });
    gateway.fleet.script = { leg: 'decode', status: 500 };
    await gateway.post(BODY);
    expect(await gateway.row()).toMatchObject({ kv: 'leased' });
    expect(gateway.fleet.ledger.open).toHaveLength(1);
    expect(gateway.router.state().handoffs).toMatchObject({ produced: 1, reclaimed: 0, leased: 1 });
  });

  it('does not hold up the answer of its request', async () => {
    const gateway = await startGateway({ stub: { decode: 2 }, file: ONCE });
    gateway.fleet.script = ({ requestId }) =>
      isReclaim(requestId) ? { hang: true } : { leg: 'decode', status: 400 };
    expect((await gateway.post(BODY)).status).toBe(400);
    await until(() => gateway.reclaims().length === 1);
    expect(gateway.journal.rows).toEqual([]);
    // A close does not wait for it either, and its row is written all the same.
    await gateway.router.close();
    expect(gateway.journal.rows).toMatchObject([{ terminal: 'invalid', status: 400, kv: 'leased' }]);
  });
});

describe('a handoff that may have been taken', () => {
  const TAKEN: [string, StubScript, string][] = [
    ['an error frame', { errorFrameAfter: { frames: 0, error: { message: 'died', code: 500 } } }, 'claimed'],
    ['a stream that was cut', { resetAfterFrames: 2 }, 'claimed'],
    ['a reset before any answer', { resetAfterFrames: 0 }, 'leased'],
  ];

  it.each(TAKEN)('is not offered again: %s', async (_name, script, kv) => {
    const gateway = await startGateway({ stub: { decode: 2 }, file: ONCE });
    gateway.fleet.script = decodeOnly(script);
    await gateway.post(BODY);
    expect(await gateway.row()).toMatchObject({ terminal: 'failed', kv });
    expect(gateway.reclaims()).toEqual([]);
  });
});

describe('reclaim legs', () => {
  it('are at most four at a time', async () => {
    const gateway = await startGateway({ stub: { decode: 3 }, file: ONCE });
    let running = 0;
    let most = 0;
    gateway.fleet.script = (call) => {
      if (call.leg !== 'decode') return undefined;
      if (!isReclaim(call.requestId)) return { status: 400 };
      running++;
      most = Math.max(most, running);
      setTimeout(() => running--, 40);
      return { delayMs: 60 };
    };
    await Promise.all(Array.from({ length: 20 }, () => gateway.post(BODY)));
    const rows = await gateway.journal.waitForRows(20);
    expect(rows.every(({ kv }) => kv === 'reclaimed')).toBe(true);
    expect(most).toBe(4);
  });

  it('of a list carry the place of their part', async () => {
    const gateway = await startGateway({ stub: { decode: 2 }, file: ONCE });
    gateway.fleet.script = decodeOnly({ status: 400 });
    const reply = await gateway.post({ prompt: ['a', 'b', 'c'], max_tokens: 4 }, '/v1/completions');
    expect(reply.status).toBe(400);
    const row = await gateway.row();
    // The parts that were cut while their decode leg was on its way may have been taken: those are left.
    expect(['reclaimed', 'leased']).toContain(row.kv);
    expect(gateway.reclaims().length).toBeGreaterThan(0);
    for (const { requestId } of gateway.reclaims()) {
      expect(requestId.slice(row.rid.length)).toMatch(/^-a1-reclaim-[0-2]$/);
    }
  });

  it('keep no client waiting: the connection is free while one runs', async () => {
    const gateway = await startGateway({ stub: { decode: 2 } });
    gateway.fleet.script = decodeOnly({ hangAfterFrames: 3 });
    const client = new StreamClient(gateway.url + CHAT, { ...BODY, stream: true });
    await client.sees('nonce-abc');
    expect(gateway.stateOf('p0').handoffs).toMatchObject({ held: 0, claimed: 1 });
    client.leave();
    expect(await gateway.row()).toMatchObject({ terminal: 'cancelled', kv: 'claimed' });
  });
});
