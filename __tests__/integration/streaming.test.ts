import compression from 'compression';
import type { StubScript } from '../../lib/testing';
import { deltaFrame, finishFrame, framesOf, normalForm, ROLE_FRAME, textFrame, USAGE_FRAME } from './frames';
import { CHAT, COMPLETIONS, errorOf, type Gateway, HI, type Setup, startGateway, until } from './gateway';
import { StreamClient } from './stream-client';

const BODY = { messages: HI, stream: true };
/** Two, three and four bytes a character, escapes as written, blanks, and numbers that a rewrite would change. */
const FRAMES = [
  ROLE_FRAME,
  textFrame('\u00e9\u4f60\u597d\u{1f30a}'),
  '{"id" : "c1", "big":1152921504606846977,"x":1.0,"choices":[ {"index":0,"delta":{"content":"caf\\u00e9 \\/ \\n"},"finish_reason":null} ]}',
  deltaFrame({ content: 'end' }),
  finishFrame(),
];

async function streamed(script: StubScript, more: Setup = {}): Promise<{ gateway: Gateway; text: string }> {
  const gateway = await startGateway(more);
  gateway.fleet.script = { leg: 'decode', ...script };
  const reply = await gateway.post(CHAT, BODY);
  expect(reply.status).toBe(200);
  expect(reply.error).toBeUndefined();
  return { gateway, text: reply.text };
}

describe('the framing of an engine', () => {
  const FRAMINGS: [string, StubScript][] = [
    ['LF', {}],
    ['CRLF', { lineEnd: '\r\n' }],
    ['CR', { lineEnd: '\r' }],
    ['no blank behind the colon', { noSpace: true }],
    ['comments', { comments: 2 }],
    ['comments with CRLF', { comments: 1, lineEnd: '\r\n' }],
    ['all in one write', { pieces: 'one-write' }],
    ['one byte at a time', { cutBytes: 1 }],
    ['CRLF, one byte at a time', { cutBytes: 1, lineEnd: '\r\n' }],
    ['pieces that cut characters', { cutBytes: 7, pieces: 'one-write' }],
  ];

  it.each(FRAMINGS)('reaches the client in its normal form: %s', async (_name, script) => {
    const { gateway, text } = await streamed({ ...script, rawFrames: [...FRAMES, USAGE_FRAME] });
    expect(text).toBe(normalForm(FRAMES));
    expect(await gateway.row()).toMatchObject({
      terminal: 'completed',
      finish_reason: 'stop',
      input_len: 3,
      output_len: 4,
    });
  });

  it('with event, id and retry fields and several data lines reaches the client as data alone', async () => {
    const [first, ...rest] = FRAMES;
    const raw = `event: chunk\nid: 4\nretry: 10\n\ndata: ${first}\nid: 5\n\n${normalForm(rest)}`;
    const { text } = await streamed({ rawBytes: Buffer.from(raw) });
    expect(text).toBe(normalForm(FRAMES));
  });

  it('with a chunk over several data lines reaches the client as one line of the same JSON', async () => {
    const lines = textFrame('two lines').replace(',"choices"', ',\ndata: "choices"');
    const raw = normalForm([ROLE_FRAME, lines, finishFrame()]);
    const { text } = await streamed({ rawBytes: Buffer.from(raw) });
    expect(text).toBe(normalForm([ROLE_FRAME, lines.replace('\ndata: ', ' '), finishFrame()]));
  });
});

describe('the head of a stream', () => {
  it('has the headers that keep proxies from holding events back, and no length', async () => {
    const gateway = await startGateway();
    const { status, headers } = await gateway.post(CHAT, BODY);
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
      'x-request-id': (await gateway.row()).rid,
    });
    expect(headers['content-length']).toBeUndefined();
    expect(headers['x-narwhal-reason']).toBeUndefined();
  });

  it('waits for the first output: a role alone does not send it', async () => {
    const gateway = await startGateway();
    gateway.fleet.script = { leg: 'decode', hangAfterFrames: 1 };
    const client = new StreamClient(gateway.url + CHAT, BODY);
    await until(() => gateway.legsAt('d0')[0]?.framesSent === 1);
    // The engine's frame has reached the gateway by the time that another whole request has been served.
    gateway.fleet.script = undefined;
    await gateway.post(CHAT, { messages: HI });
    expect(client.status).toBe(0);
    client.leave();
    await client.end();
    await gateway.rowsOf(2);
  });

  it('is sent with the role and the first text in one piece', async () => {
    const gateway = await startGateway();
    gateway.fleet.script = { leg: 'decode', rawFrames: FRAMES, hangAfterFrames: 2 };
    const client = new StreamClient(gateway.url + CHAT, BODY);
    await client.sees('\u{1f30a}');
    expect(client.text).toBe(normalForm(FRAMES.slice(0, 2), false));
    client.leave();
    await gateway.rowsOf(1);
  });
});

describe('the usage frame', () => {
  const frames = framesOf('one', 'two');

  it('reaches only a client that asked for it', async () => {
    const gateway = await startGateway();
    gateway.fleet.script = { leg: 'decode', rawFrames: frames };
    const without = await gateway.post(CHAT, BODY);
    expect(without.text).toBe(normalForm(frames.slice(0, -1)));
    const refused = await gateway.post(CHAT, { ...BODY, stream_options: { include_usage: false } });
    expect(refused.text).toBe(normalForm(frames.slice(0, -1)));
    const asked = await gateway.post(CHAT, { ...BODY, stream_options: { include_usage: true } });
    expect(asked.text).toBe(normalForm(frames));
  });

  it('is the usage of the row, the last one where every chunk states one', async () => {
    const withUsage = (frame: string, tokens: number): string =>
      frame.replace(/\}$/, `,"usage":{"prompt_tokens":5,"completion_tokens":${tokens}}}`);
    const counted = [ROLE_FRAME, textFrame('a'), textFrame('b'), finishFrame()].map(withUsage);
    const { gateway, text } = await streamed({ rawFrames: counted });
    expect(text).toBe(normalForm(counted));
    expect(await gateway.row()).toMatchObject({ input_len: 5, output_len: 3 });
  });
});

describe('a text that looks like something else', () => {
  it('is a text: the words error, finish_reason, usage and [DONE] inside strings end nothing', async () => {
    const words = [
      'error',
      'finish_reason',
      'usage',
      '[DONE]',
      '"error":{"message":"x"}',
      'data: [DONE]\n\n',
    ];
    const frames = [
      ROLE_FRAME,
      ...words.map(textFrame),
      deltaFrame({ content: 'end' }, { error: null }),
      finishFrame(),
    ];
    const { gateway, text } = await streamed({ rawFrames: frames });
    expect(text).toBe(normalForm(frames));
    expect(await gateway.row()).toMatchObject({ terminal: 'completed', finish_reason: 'stop' });
  });
});

describe('the end of a stream', () => {
  const whole = framesOf('one', 'two').slice(0, -1);
  const GOOD: [string, StubScript][] = [
    ['no [DONE]', { noDone: true }],
    ['a socket that stays open behind [DONE]', { keepOpenAfterDone: true }],
    ['a [DONE] before the usage frame', { rawFrames: [...whole, '[DONE]', USAGE_FRAME] }],
    ['a last event without its blank line', { rawBytes: Buffer.from(normalForm(whole).slice(0, -2)) }],
  ];

  it.each(GOOD)('is good, with exactly one [DONE]: %s', async (_name, script) => {
    const { gateway, text } = await streamed({ rawFrames: [...whole, USAGE_FRAME], ...script });
    expect(text).toBe(normalForm(whole));
    expect(await gateway.row()).toMatchObject({ terminal: 'completed', status: 200, reason: null });
  });

  const CUT: [string, StubScript, string][] = [
    ['ends without a finish_reason', { endAfterFrames: 3 }, 'engine_connection'],
    ['ends with [DONE] but without a finish_reason', { earlyDone: 3 }, 'engine_connection'],
    ['is reset', { resetAfterFrames: 3 }, 'engine_connection'],
    ['sends what is not JSON', { rawFrames: [...whole.slice(0, 3), 'oops'] }, 'invalid_response'],
    [
      'sends an error',
      { errorFrameAfter: { frames: 3, error: { message: 'died', code: 500 } } },
      'engine_error',
    ],
    [
      'sends an error with choices',
      { errorFrameAfter: { frames: 3, error: { message: 'died', code: 500 }, choices: true, done: true } },
      'engine_error',
    ],
    [
      'sends an error that is a text',
      { errorFrameAfter: { frames: 3, error: 'died', done: true } },
      'engine_error',
    ],
    [
      'sends a flat error',
      { rawFrames: [...whole.slice(0, 3), '{"object":"error","message":"died","code":500}'] },
      'engine_error',
    ],
  ];

  it.each(CUT)('is one error frame and no [DONE] where the engine %s', async (_name, script, reason) => {
    const { gateway, text } = await streamed({ rawFrames: whole, ...script }, { stub: { decode: 2 } });
    const shown = normalForm(whole.slice(0, 3), false);
    expect(text.slice(0, shown.length)).toBe(shown);
    const last = text.slice(shown.length);
    expect(last).toMatch(/^data: [^\n]+\n\n$/);
    const { error } = JSON.parse(last.slice('data: '.length)) as { error: { message: string } };
    expect(error).toEqual({ message: expect.any(String), type: 'decode', param: null, code: 'failed' });
    expect(error.message).not.toContain('127.0.0.1');
    const row = await gateway.row();
    expect(row).toMatchObject({ terminal: 'failed', reason, status: 200, attempts: 1 });
    expect(gateway.legs).toHaveLength(2);
  });

  it('is one error frame with the code expired where the engine falls silent', async () => {
    const setup = { file: { engine: { decode_read_timeout_s: 0.1 } } };
    const { gateway, text } = await streamed({ rawFrames: whole, hangAfterFrames: 3 }, setup);
    expect(text.slice(normalForm(whole.slice(0, 3), false).length)).toBe(
      'data: {"error":{"message":"the decode engine sent nothing for decode_read_timeout_s",' +
        '"type":"decode","param":null,"code":"expired"}}\n\n',
    );
    expect(await gateway.row()).toMatchObject({ terminal: 'failed', reason: 'engine_timeout', status: 200 });
    await until(() => gateway.legsAt('d0')[0]?.closedEarly === true);
  });

  it.each([
    ['500', { message: 'died', type: 'InternalServerError', code: 500 }, 502, 'engine_error'],
    ['503', { message: 'busy', code: 503 }, 502, 'engine_overloaded'],
    ['a text', 'died', 502, 'engine_error'],
    ['504', { message: 'late', code: 504 }, 504, 'engine_timeout'],
  ] as const)(
    'is JSON with its true status where the first frame is an error: %s',
    async (_name, error, status, reason) => {
      const gateway = await startGateway({ file: { serving: { max_attempts: 1 } } });
      gateway.fleet.script = { leg: 'decode', errorFrameAfter: { frames: 1, error, done: true } };
      const reply = await gateway.post(CHAT, BODY);
      expect(reply.status).toBe(status);
      expect(reply.headers).toMatchObject({ 'content-type': 'application/json', 'x-narwhal-reason': reason });
      expect(errorOf(reply)).toMatchObject({ type: 'decode', code: 'decode' });
      expect(await gateway.row()).toMatchObject({ terminal: 'failed', reason, status });
    },
  );

  it('is the refusal of the engine where the first frame is one', async () => {
    const gateway = await startGateway();
    const error = { message: 'bad logit_bias', type: 'BadRequestError', param: 'logit_bias', code: 400 };
    gateway.fleet.script = { leg: 'decode', errorFrameAfter: { frames: 0, error, choices: true } };
    const reply = await gateway.post(CHAT, BODY);
    expect(reply.status).toBe(400);
    expect(errorOf(reply)).toEqual(error);
    expect(await gateway.row()).toMatchObject({ terminal: 'invalid', reason: 'engine_refused', attempts: 1 });
  });
});

describe('events on their way to a client', () => {
  it('are not held back by compression() in the host', async () => {
    const gateway = await startGateway({ before: [compression({ threshold: 0 })] });
    gateway.fleet.script = { leg: 'decode', rawFrames: FRAMES, hangAfterFrames: 2 };
    const client = new StreamClient(gateway.url + CHAT, BODY, { 'accept-encoding': 'gzip, br' });
    // The engine writes nothing more, so that what is readable now was not waiting for a later event.
    await client.sees('\u{1f30a}');
    expect(client.headers['content-encoding']).toBeUndefined();
    client.leave();
    await gateway.rowsOf(1);
  });

  it('arrive one by one, each before the next is made', async () => {
    const gateway = await startGateway();
    for (const shown of [2, 3, 4]) {
      gateway.fleet.script = { leg: 'decode', rawFrames: framesOf('a1', 'a2', 'a3'), hangAfterFrames: shown };
      const client = new StreamClient(gateway.url + CHAT, BODY);
      await client.sees(`a${shown - 1}`);
      expect(client.text).toBe(normalForm(framesOf('a1', 'a2', 'a3').slice(0, shown), false));
      client.leave();
      await client.end();
    }
    await gateway.rowsOf(3);
  });

  it('have comments before them where heartbeat_s is set, none after the first output', async () => {
    const gateway = await startGateway({ file: { serving: { heartbeat_s: 0.02 } } });
    gateway.fleet.script = (call) => (call.leg === 'prefill' ? { delayMs: 200 } : { frameDelayMs: 40 });
    const client = new StreamClient(gateway.url + COMPLETIONS, { prompt: 'hi', stream: true });
    await client.sees(': keep-alive\n\n: keep-alive\n\n');
    expect(client.status).toBe(200);
    await client.end();
    expect(client.text).toMatch(/^(: keep-alive\n\n)+(data: [^\n]+\n\n)+data: \[DONE\]\n\n$/);
    expect(await gateway.row()).toMatchObject({ terminal: 'completed', status: 200 });
  });

  it('turn a later error into a frame once a heartbeat has sent the 200', async () => {
    const serving = { heartbeat_s: 0.02, max_attempts: 1 };
    const gateway = await startGateway({ file: { serving } });
    gateway.fleet.script = { leg: 'decode', delayMs: 200, status: 500 };
    const client = new StreamClient(gateway.url + CHAT, BODY);
    await client.end();
    expect(client.status).toBe(200);
    const frame = client.text.replaceAll(': keep-alive\n\n', '');
    expect(JSON.parse(frame.replace(/^data: /, ''))).toMatchObject({ error: { type: 'decode' } });
    expect(client.text).not.toContain('[DONE]');
    expect(await gateway.row()).toMatchObject({ terminal: 'failed', reason: 'engine_error', status: 200 });
  });

  it('hold the engine back while the client does not read, and grow no memory', async () => {
    const gateway = await startGateway();
    const totalBytes = 60e6;
    gateway.fleet.script = { leg: 'decode', endless: { bytesPerFrame: 20_000, totalBytes } };
    const client = new StreamClient(gateway.url + CHAT, BODY);
    await client.sees('xxx');
    client.pause();
    const rss = process.memoryUsage.rss();
    const call = gateway.legsAt('d0')[0]!;
    await until(() => call.paused);
    // What the sockets between hold is small: the rest stays in the engine, however long the wait.
    let before = -1;
    while (before !== call.bytesWritten) {
      before = call.bytesWritten;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    expect(call.bytesWritten).toBeLessThan(totalBytes / 3);
    expect(process.memoryUsage.rss() - rss).toBeLessThan(totalBytes / 2);
    expect(call.responseEnded).toBe(false);
    client.leave();
    await until(() => call.closedEarly);
    expect(await gateway.row()).toMatchObject({ terminal: 'cancelled', cancelled_phase: 'decode' });
  });

  it('go on to the end when a slow client reads again', async () => {
    const gateway = await startGateway();
    gateway.fleet.script = { leg: 'decode', endless: { bytesPerFrame: 20_000, totalBytes: 12e6 } };
    const client = new StreamClient(gateway.url + CHAT, BODY);
    await client.sees('xxx');
    const call = gateway.legsAt('d0')[0]!;
    client.pause();
    await until(() => call.paused);
    client.resume();
    await client.end();
    expect(client.text.endsWith('data: [DONE]\n\n')).toBe(true);
    expect(client.text.length).toBeGreaterThan(12e6);
    expect(await gateway.row()).toMatchObject({ terminal: 'completed' });
  });
});
