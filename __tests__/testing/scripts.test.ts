import { request } from 'node:http';
import { type StubFleet, type StubScript, startStubFleet } from '../../lib/testing/index';
import { CHAT, COMPLETIONS, decodeBody, MESSAGES, PREFILL, parseSse, post, type Reply, send } from './client';

const BODY = { messages: MESSAGES, stream: true };
const GENERATION = { content: ['one', ' zwei', ' 三', ' 🌊'] };
const FRAMES = 7; // role chunk, four deltas, finish chunk, [DONE]

describe('scripts', () => {
  let fleet: StubFleet;
  beforeAll(async () => {
    fleet = await startStubFleet({ prefill: 1, decode: 1, both: 1, generate: () => GENERATION });
  });
  afterAll(() => fleet.close());
  afterEach(() => {
    fleet.script = undefined;
    for (const engine of fleet.engines) engine.script = undefined;
    fleet.reset();
  });

  const play = (script: StubScript, body: object = BODY): Promise<Reply> => {
    fleet.engine('b0').script = script;
    return post(fleet.engine('b0'), CHAT, body);
  };
  const idle = async (): Promise<void> => {
    while (fleet.engines.some((engine) => engine.inFlight > 0)) await new Promise(setImmediate);
  };
  /** Plays a script that leaves the connection open; leaves once the frames it lets through are there. */
  const playOpen = async (script: StubScript, untilText: string, body: object = BODY): Promise<Reply> => {
    fleet.engine('b0').script = script;
    const leave = new AbortController();
    let text = '';
    const onPiece = (piece: Buffer): void => {
      text += piece.toString('utf8');
      if (text.includes(untilText)) leave.abort();
    };
    const reply = await post(fleet.engine('b0'), CHAT, body, { signal: leave.signal, onPiece });
    await idle();
    return reply;
  };

  it('answers a status with the engine’s envelope', async () => {
    const reply = await play({ status: 503, retryAfter: 2, headers: { 'X-More': 'a' } });
    expect(reply).toMatchObject({ status: 503, headers: { 'retry-after': '2', 'x-more': 'a' } });
    expect(JSON.parse(reply.text)).toEqual({
      error: { message: 'Service Unavailable', type: 'Service Unavailable', param: null, code: 503 },
    });
    expect(fleet.calls[0]).toMatchObject({ status: 503, responseEnded: true });
  });

  it('answers a body of its own', async () => {
    expect(await play({ status: 422, body: { message: 'flat' } })).toMatchObject({
      text: '{"message":"flat"}',
    });
    const html = await play({ body: '<html>', headers: { 'content-type': 'text/html' } });
    expect(html).toMatchObject({ status: 200, text: '<html>', headers: { 'content-type': 'text/html' } });
  });

  it('redirects', async () => {
    const reply = await play({ redirect: 'http://127.0.0.1:9/x' });
    expect(reply).toMatchObject({ status: 307, headers: { location: 'http://127.0.0.1:9/x' } });
  });

  it('never answers', async () => {
    fleet.engine('b0').script = { hang: true };
    const leave = new AbortController();
    const reply = post(fleet.engine('b0'), CHAT, BODY, { signal: leave.signal });
    while (fleet.calls.length === 0) await new Promise(setImmediate);
    leave.abort();
    expect((await reply).error).toBe('ABORT_ERR');
    await idle();
    expect(fleet.calls[0]).toMatchObject({ status: null, closedEarly: true, responseEnded: false });
    expect(fleet.calls[0]?.closedAt).toBeGreaterThan(fleet.calls[0]?.at ?? Number.NaN);
  });

  it('goes silent after n frames', async () => {
    const reply = await playOpen({ hangAfterFrames: 2 }, 'one');
    expect(parseSse(reply.text)).toHaveLength(2);
    expect(fleet.calls[0]).toMatchObject({ framesSent: 2, closedEarly: true, status: 200 });
  });

  it('resets after n frames, or before the head', async () => {
    const later = await play({ resetAfterFrames: 3 });
    expect([parseSse(later.text).length, later.error]).toEqual([3, 'ECONNRESET']);
    const early = await play({ resetAfterFrames: 0 });
    expect(early).toMatchObject({ status: 0, error: 'ECONNRESET' });
    expect(fleet.calls.map((call) => [call.status, call.closedEarly])).toEqual([
      [200, false],
      [null, false],
    ]);
  });

  it('ends early', async () => {
    const reply = await play({ endAfterFrames: 2 });
    expect([parseSse(reply.text).length, reply.error]).toEqual([2, undefined]);
    expect(fleet.calls[0]).toMatchObject({ framesSent: 2, responseEnded: true });
  });

  it('cuts an answer that is not streamed', async () => {
    const whole = (await play({}, { messages: MESSAGES })).text;
    const reset = await play({ resetAfterFrames: 1 }, { messages: MESSAGES });
    const ended = await play({ endAfterFrames: 1 }, { messages: MESSAGES });
    expect([reset.status, reset.error, ended.error]).toEqual([200, 'ECONNRESET', undefined]);
    expect(whole.length).toBeGreaterThan(ended.text.length);
    expect(() => JSON.parse(ended.text) as unknown).toThrow(SyntaxError);
  });

  it('sends an error frame', async () => {
    const error = { message: 'boom', code: 500 };
    const bare = parseSse((await play({ errorFrameAfter: { frames: 1, error } })).text);
    expect(bare.slice(1)).toEqual([JSON.stringify({ error })]);
    const full = await play({ errorFrameAfter: { frames: 0, error, choices: true, done: true } });
    expect(parseSse(full.text)).toEqual([JSON.stringify({ error, choices: [] }), '[DONE]']);
  });

  it('leaves out or moves what ends a stream', async () => {
    expect(parseSse((await play({ noDone: true })).text)).toHaveLength(FRAMES - 1);
    expect(parseSse((await play({ noFinish: true })).text)).toHaveLength(FRAMES - 1);
    expect((await play({ noFinish: true })).text).not.toContain('"finish_reason":"');
    expect(parseSse((await play({ earlyDone: 0 })).text)).toEqual(['[DONE]']);
  });

  it('leaves the connection open after [DONE]', async () => {
    const reply = await playOpen({ keepOpenAfterDone: true }, '[DONE]');
    expect(parseSse(reply.text)).toHaveLength(FRAMES);
    expect(fleet.calls[0]).toMatchObject({ responseEnded: false, framesSent: FRAMES });
  });

  it('writes the same bytes in any pieces', async () => {
    const plain = (await play({})).text.replace(/"id":"[^"]*"|"created":\d+/g, '');
    for (const script of [
      { cutBytes: 1 },
      { cutBytes: 7 },
      { pieces: 'one-write' },
      { frameDelayMs: 1 },
    ] as const) {
      const reply = await play(script);
      expect(reply.text.replace(/"id":"[^"]*"|"created":\d+/g, '')).toBe(plain);
    }
    expect(fleet.calls.every((call) => call.framesSent === FRAMES)).toBe(true);
    const bytewise = await play({ cutBytes: 1 });
    expect(bytewise.pieces.length).toBeGreaterThan(FRAMES);
    expect((await play({ cutBytes: 5 }, { messages: MESSAGES })).text).toContain('one zwei 三 🌊');
  });

  it.each(['\r\n', '\r'] as const)('ends lines with %j', async (lineEnd) => {
    const { text } = await play({ lineEnd });
    expect(text.split(lineEnd + lineEnd)).toHaveLength(FRAMES + 1);
    expect(text.replaceAll(lineEnd, '')).not.toMatch(/[\r\n]/);
  });

  it('writes comments, and fields without a blank', async () => {
    const { text } = await play({ comments: 2, noSpace: true });
    expect(text.match(/^: /gm)).toHaveLength(2 * FRAMES);
    expect(text.match(/^data:[{[]/gm)).toHaveLength(FRAMES);
  });

  it('sends frames and bytes as they are', async () => {
    const frames = ['{"a": 1.0}', 'no json'];
    expect(parseSse((await play({ rawFrames: frames })).text)).toEqual([...frames, '[DONE]']);
    const rawBytes = Buffer.from([0, 1, 2, 255]);
    expect(Buffer.concat((await play({ rawBytes })).pieces)).toEqual(rawBytes);
    expect(Buffer.concat((await play({ rawBytes }, { messages: MESSAGES })).pieces)).toEqual(rawBytes);
  });

  it('generates something else', async () => {
    const reply = await play({ generation: { content: ['other'] } }, { messages: MESSAGES });
    expect(JSON.parse(reply.text)).toMatchObject({ choices: [{ message: { content: 'other' } }] });
  });

  it('closes the connection', async () => {
    expect((await play({ closeAfterAnswer: true })).headers.connection).toBe('close');
  });

  it('calls a hook before the answer, and waits', async () => {
    const seen: unknown[] = [];
    await play({ delayMs: 1, onCall: (call) => seen.push(call.requestId, call.status) });
    expect(seen).toEqual([fleet.calls[0]?.requestId, null]);
  });

  it('streams without an end, no faster than the peer reads', async () => {
    const endless = { bytesPerFrame: 50_000, totalBytes: 30_000_000 };
    fleet.engine('b0').script = { endless };
    let reads = 0;
    const { length } = await new Promise<{ length: number }>((resolve) => {
      const agent = false;
      const headers = { 'content-type': 'application/json', 'x-request-id': 'endless' };
      const req = request(fleet.engine('b0').url + COMPLETIONS, { method: 'POST', headers, agent }, (res) => {
        let length = 0;
        const waitUntilFull = (): void => {
          if (fleet.calls[0]?.paused) res.on('data', (piece: Buffer) => (length += piece.length));
          else setImmediate(waitUntilFull);
        };
        res.once('close', () => resolve({ length }));
        res.once('readable', () => (reads += 1));
        waitUntilFull();
      });
      req.end(JSON.stringify({ prompt: 'a', stream: true }));
    });
    expect(reads).toBe(1);
    expect(length).toBeGreaterThanOrEqual(endless.totalBytes);
    expect(fleet.calls[0]).toMatchObject({ paused: true, responseEnded: true, bytesWritten: length });
  });

  it('spoils a handoff', async () => {
    const prefill = async (script: StubScript): Promise<Record<string, unknown>> => {
      fleet.engine('p0').script = script;
      const reply = await post(fleet.engine('p0'), CHAT, { messages: MESSAGES, ...PREFILL });
      return JSON.parse(reply.text) as Record<string, unknown>;
    };
    expect(await prefill({ noHandoff: true })).toMatchObject({ kv_transfer_params: null });
    expect(fleet.ledger.produced).toBe(0);
    const inChoice = await prefill({ handoffInChoice: true });
    expect(inChoice).toMatchObject({
      kv_transfer_params: null,
      choices: [{ kv_transfer_params: { do_remote_prefill: true } }],
    });
    const handoffText = '{"do_remote_prefill":true, "remote_engine_id":"e1"}';
    expect((await prefill({ handoffText }))['kv_transfer_params']).toEqual(JSON.parse(handoffText));
    await prefill({ handoffText });
    const body = decodeBody({ messages: MESSAGES }, handoffText);
    for (let at = 0; at < 2; at += 1) await post(fleet.engine('d0'), CHAT, body);
    fleet.assertNoBreaches();
    expect(fleet.ledger).toMatchObject({ produced: 3, claimed: 2 });
  });

  it('tells of a handoff in the tick in which the answer ends', async () => {
    const told: (string | null)[] = [];
    fleet.engine('p0').script = { onHandoff: (call) => told.push(call.handoff) };
    await post(fleet.engine('p0'), CHAT, { messages: MESSAGES, ...PREFILL });
    expect(told).toEqual([fleet.ledger.open[0]?.text]);
  });

  it.each<[string, StubScript, string]>([
    ['hangs', { hang: true }, 'claimed'],
    ['refuses', { status: 500 }, 'open'],
    ['refuses and takes it', { status: 500, claim: true }, 'claimed'],
    ['resets before the head', { resetAfterFrames: 0 }, 'open'],
    ['resets later', { resetAfterFrames: 1 }, 'claimed'],
    ['takes it not', { claim: false }, 'open'],
  ])('a decode engine that %s', async (_name, script, state) => {
    await post(fleet.engine('p0'), CHAT, { messages: MESSAGES, ...PREFILL });
    const [handoff] = fleet.ledger.open;
    const leave = new AbortController();
    fleet.engine('d0').script = { ...script, onCall: () => script.hang && setImmediate(() => leave.abort()) };
    const { signal } = leave;
    await post(fleet.engine('d0'), CHAT, decodeBody({ messages: MESSAGES }, handoff?.text), { signal });
    await idle();
    expect(handoff?.state).toBe(state);
    fleet.assertNoBreaches();
  });

  it('may come again with the same id after a reset before the head', async () => {
    fleet.engine('b0').script = [{ resetAfterFrames: 0 }];
    const headers = { 'x-request-id': 'again' };
    await post(fleet.engine('b0'), CHAT, BODY, { headers });
    expect((await post(fleet.engine('b0'), CHAT, BODY, { headers })).status).toBe(200);
    fleet.assertNoBreaches();
  });
});

describe('which script is used', () => {
  let fleet: StubFleet;
  beforeAll(async () => {
    fleet = await startStubFleet({ prefill: 0, decode: 0, both: 2 });
  });
  afterAll(() => fleet.close());
  afterEach(() => {
    fleet.script = undefined;
    for (const engine of fleet.engines) engine.script = undefined;
  });

  const status = async (iid = 'b0'): Promise<number> =>
    (await post(fleet.engine(iid), CHAT, { messages: MESSAGES })).status;
  const health = async (): Promise<number> =>
    (await send(`${fleet.engine('b0').url}/health`, { method: 'GET' })).status;

  it('one script for all calls, or for the next n', async () => {
    fleet.engine('b0').script = { status: 500 };
    expect([await status(), await status(), await status('b1')]).toEqual([500, 500, 200]);
    fleet.engine('b0').script = { status: 500, times: 2 };
    expect([await status(), await status(), await status()]).toEqual([500, 500, 200]);
  });

  it('a list, one after another', async () => {
    fleet.engine('b0').script = [{ status: 500 }, { status: 429, times: 2 }, {}, { status: 503 }];
    const seen: number[] = [];
    for (let at = 0; at < 6; at += 1) seen.push(await status());
    expect(seen).toEqual([500, 429, 429, 200, 503, 200]);
  });

  it('a function, asked at every call', async () => {
    fleet.script = (call) => (call.engine === 'b1' ? { status: 502 } : undefined);
    expect([await status(), await status('b1')]).toEqual([200, 502]);
  });

  it('the engine’s own before the fleet’s', async () => {
    fleet.script = { status: 500 };
    fleet.engine('b0').script = { status: 429, times: 1 };
    expect([await status(), await status()]).toEqual([429, 500]);
  });

  it('health only when it is named', async () => {
    fleet.engine('b0').script = { status: 500 };
    expect(await health()).toBe(200);
    fleet.engine('b0').script = { leg: 'health', status: 503 };
    expect([await health(), await status()]).toEqual([503, 200]);
  });
});
