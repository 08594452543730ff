import type { StubScript } from '../../lib/testing';
import { deltaFrame, finishFrame, framesOf, normalForm, ROLE_FRAME, textFrame, USAGE_FRAME } from './frames';
import { CHAT, type Gateway, HI, type Setup, startGateway, until } from './gateway';
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
