import type { StubScript } from '../../lib/testing';
import { CHAT, choicesOf, errorOf, HI, startGateway, until } from './gateway';

const BODY = { messages: HI };

describe.each([false, true])('a retry (stream: %s)', (stream) => {
  const TRANSIENT: [string, StubScript][] = [
    ['500', { status: 500 }],
    ['502', { status: 502 }],
    ['503', { status: 503 }],
    ['504', { status: 504 }],
    ['429', { status: 429 }],
    ['408', { status: 408 }],
    ['a reset', { resetAfterFrames: 0 }],
  ];
  const DECODE_ONLY: [string, StubScript][] = [
    ['an error frame first', { errorFrameAfter: { frames: 1, error: { message: 'died', code: 500 } } }],
    ['a stream that is cut before output', { endAfterFrames: 1 }],
    ['a stream that is reset before output', { resetAfterFrames: 1 }],
  ];
  const ROWS = [
    ...TRANSIENT.flatMap(([name, script]) =>
      (['prefill', 'decode'] as const).map((leg) => [name, script, leg] as const),
    ),
    ...DECODE_ONLY.map(([name, script]) => [name, script, 'decode'] as const),
    ['no handoff', { noHandoff: true }, 'prefill'] as const,
  ];

  it.each(ROWS)(
    'after %s (%j on the %s leg) starts over, elsewhere and with new ids',
    async (_name, script, leg) => {
      const gateway = await startGateway({ stub: { prefill: 2, decode: 2 } });
      gateway.fleet.script = (call) =>
        call.leg === leg && call.requestId.includes('-a1-') ? script : undefined;
      const reply = await gateway.post(CHAT, {
        messages: [{ role: 'user', content: 'Say nonce-retry' }],
        stream,
      });
      expect(reply.status).toBe(200);
      expect(reply.text.match(/nonce-retry/g)).toHaveLength(1);
      const row = await gateway.row();
      expect(row).toMatchObject({ terminal: 'completed', attempts: 2, status: 200 });
      expect(row.attempt_failures).toMatchObject([{ attempt: 1, leg }]);
      const legs = gateway.legs;
      const ids = legs.map(({ requestId }) => requestId.slice(row.rid.length));
      const all = ['-a1-prefill', '-a1-decode', '-a2-prefill', '-a2-decode'];
      expect(ids).toEqual(leg === 'prefill' ? all.filter((id) => id !== '-a1-decode') : all);
      const engines = legs.filter((call) => call.leg === leg).map(({ engine }) => engine);
      expect(new Set(engines).size).toBe(2);
    },
  );

  it('is not made without another engine: the client gets the last fault', async () => {
    const gateway = await startGateway();
    gateway.fleet.script = { leg: 'decode', status: 500 };
    const reply = await gateway.post(CHAT, { ...BODY, stream });
    expect(reply.status).toBe(502);
    expect(errorOf(reply)).toMatchObject({ type: 'decode', message: 'the decode engine failed' });
    expect(await gateway.row()).toMatchObject({ terminal: 'failed', reason: 'no_engine', status: 502 });
    expect(gateway.legsAt('d0').filter(({ requestId }) => requestId.endsWith('-decode'))).toHaveLength(1);
  });

  it('is made at most max_attempts - 1 times', async () => {
    const gateway = await startGateway({
      stub: { prefill: 5, decode: 5 },
      file: { serving: { max_attempts: 3 } },
    });
    gateway.fleet.script = { leg: 'prefill', status: 500 };
    expect((await gateway.post(CHAT, { ...BODY, stream })).status).toBe(502);
    const row = await gateway.row();
    expect(row).toMatchObject({ terminal: 'failed', reason: 'engine_error', attempts: 3 });
    expect(row.attempt_failures).toHaveLength(3);
    expect(gateway.legs.map(({ requestId }) => requestId.slice(row.rid.length))).toEqual([
      '-a1-prefill',
      '-a2-prefill',
      '-a3-prefill',
    ]);
  });
});

describe('a fault after output', () => {
  it('is never retried while streaming: no text comes twice', async () => {
    const gateway = await startGateway({ stub: { prefill: 2, decode: 2 } });
    gateway.fleet.script = { leg: 'decode', times: 1, resetAfterFrames: 2 };
    const reply = await gateway.post(CHAT, { ...BODY, stream: true });
    expect(reply.status).toBe(200);
    expect(reply.text.match(/Heard/g)).toHaveLength(1);
    expect(reply.text).toContain('"code":"failed"');
    expect(await gateway.row()).toMatchObject({ terminal: 'failed', attempts: 1, decode_attempts: 1 });
    expect(gateway.legs).toHaveLength(2);
  });

  it('is retried where nothing was shown yet, because the answer was being assembled', async () => {
    const gateway = await startGateway({ stub: { prefill: 2, decode: 2 } });
    gateway.fleet.script = { leg: 'decode', times: 1, resetAfterFrames: 3 };
    const reply = await gateway.post(CHAT, BODY);
    expect(reply.status).toBe(200);
    expect(choicesOf(reply)).toHaveLength(1);
    expect(reply.text.match(/Heard/g)).toHaveLength(1);
    expect(await gateway.row()).toMatchObject({ terminal: 'completed', attempts: 2, decode_attempts: 2 });
  });
});

describe('a burst of failing prefills', () => {
  it('reaches no decode engine and leaves no seat taken', async () => {
    const gateway = await startGateway({
      file: { serving: { max_attempts: 2, retry_budget: 3 } },
      stub: { prefill: 2 },
    });
    gateway.fleet.script = { leg: 'prefill', status: 503 };
    const replies = await Promise.all(Array.from({ length: 20 }, () => gateway.post(CHAT, BODY)));
    expect(replies.map(({ status }) => status)).toEqual(Array(20).fill(502));
    expect(gateway.legsAt('d0')).toEqual([]);
    // Twenty first attempts, and no more retries than the budget has.
    expect(gateway.legs.length).toBeLessThanOrEqual(23);
    await gateway.rowsOf(20);
    await until(() => gateway.fleet.engines.every(({ inFlight }) => inFlight === 0));
  });
});
