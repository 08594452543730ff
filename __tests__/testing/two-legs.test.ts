import { type StubFleet, startStubFleet } from '../../lib/testing/index';
import { CHAT, COMPLETIONS, decodeBody, MESSAGES, PREFILL, parseSse, post } from './client';

describe('a request in two legs', () => {
  let fleet: StubFleet;
  beforeAll(async () => {
    fleet = await startStubFleet();
  });
  afterAll(() => fleet.close());
  beforeEach(() => fleet.reset());

  const bodies = [
    { path: CHAT, body: { model: 'example/model', messages: MESSAGES } },
    { path: COMPLETIONS, body: { model: 'example/model', prompt: 'Say nonce-abc7', max_tokens: 40 } },
    { path: COMPLETIONS, body: { prompt: [5, 6, 7] } },
  ];

  it.each(bodies)('carries a handoff once ($path)', async ({ path, body }) => {
    const prefill = await post(fleet.engine('p0'), path, { ...body, ...PREFILL });
    expect(prefill.status).toBe(200);
    const handoff = fleet.calls[0]?.handoff;
    expect(prefill.text).toContain(`"kv_transfer_params":${handoff}`);
    expect(fleet.ledger.open).toHaveLength(1);

    const decode = await post(fleet.engine('d0'), path, decodeBody(body, handoff));
    expect(decode.headers['content-type']).toBe('text/event-stream; charset=utf-8');
    expect(parseSse(decode.text).at(-1)).toBe('[DONE]');
    fleet.assertNoBreaches();
    expect(fleet.ledger).toMatchObject({ produced: 1, claimed: 1, expired: 0, released: 0, open: [] });
    expect(fleet.calls.map((call) => [call.engine, call.leg, call.status, call.responseEnded])).toEqual([
      ['p0', 'prefill', 200, true],
      ['d0', 'decode', 200, true],
    ]);
  });

  it('hands over what a rewrite would spoil', async () => {
    await post(fleet.engine('p0'), CHAT, { messages: MESSAGES, ...PREFILL });
    const text = fleet.calls[0]?.handoff ?? '';
    expect(JSON.stringify(JSON.parse(text))).not.toBe(text);
    expect(text).toContain('1152921504606846977');
  });

  it('asks for one token and answers one', async () => {
    const reply = await post(fleet.engine('p0'), CHAT, { messages: MESSAGES, ...PREFILL });
    expect(JSON.parse(reply.text)).toMatchObject({
      choices: [{ finish_reason: 'length' }],
      usage: { completion_tokens: 1 },
    });
  });

  it('lets go of a handoff for a reclaim leg', async () => {
    await post(fleet.engine('p0'), CHAT, { messages: MESSAGES, ...PREFILL });
    const text = decodeBody({ messages: MESSAGES, max_tokens: 1 }, fleet.calls[0]?.handoff);
    const headers = { 'x-request-id': 'r-a1-reclaim' };
    expect((await post(fleet.engine('d0'), CHAT, text, { headers })).status).toBe(200);
    fleet.assertNoBreaches();
    expect(fleet.ledger).toMatchObject({ produced: 1, claimed: 0, released: 1, open: [] });
  });

  it('keeps a handoff open that a refused decode leg brought', async () => {
    await post(fleet.engine('p0'), CHAT, { messages: MESSAGES, ...PREFILL });
    const handoff = fleet.calls[0]?.handoff;
    fleet.engine('d0').script = { status: 503, times: 1 };
    const refused = await post(fleet.engine('d0'), CHAT, decodeBody({ messages: MESSAGES }, handoff));
    expect(refused.status).toBe(503);
    expect(fleet.ledger.open).toHaveLength(1);
    const reclaim = decodeBody({ messages: MESSAGES, max_tokens: 1 }, handoff);
    await post(fleet.engine('d0'), CHAT, reclaim, { headers: { 'x-request-id': 'r-a2-reclaim' } });
    expect(fleet.ledger).toMatchObject({ released: 1, open: [] });
    fleet.assertNoBreaches();
  });

  it('does not produce a handoff for a peer that left during prefill', async () => {
    fleet.script = { leg: 'prefill', delayMs: 5000 };
    const leave = new AbortController();
    fleet.engine('p0').script = (call) => {
      setImmediate(() => leave.abort());
      return { leg: 'prefill', delayMs: 5000, onCall: () => expect(call.status).toBeNull() };
    };
    const body = { messages: MESSAGES, ...PREFILL };
    const reply = await post(fleet.engine('p0'), CHAT, body, { signal: leave.signal });
    expect(reply.error).toBe('ABORT_ERR');
    while (fleet.engine('p0').inFlight > 0) await new Promise((resolve) => setImmediate(resolve));
    expect(fleet.ledger.produced).toBe(0);
    expect(fleet.calls[0]).toMatchObject({ closedEarly: true, responseEnded: false, status: null });
    fleet.script = undefined;
    fleet.engine('p0').script = undefined;
  });
});
