import type { StubScript } from '../../lib/testing';
import { AUTHORIZED, ENGINE_KEY, papers, withKeys } from './canaries';
import { CHAT, HI, startGateway } from './gateway';

describe('the key of the engines', () => {
  const echo = { error: { message: `key ${ENGINE_KEY} at 127.0.0.1`, type: 'X', param: null, code: null } };
  const SCRIPTS: [string, StubScript][] = [
    ['is good', {}],
    ['is echoed in a refusal', { status: 400, body: echo }],
    ['is echoed in a failure', { status: 500, body: echo }],
    ['is echoed as a text', { status: 401, body: `wrong key: Bearer ${ENGINE_KEY}` }],
    ['is echoed where the engine is overloaded', { status: 503, body: echo }],
    ['is echoed in a redirect', { redirect: `http://127.0.0.1:1/?key=${ENGINE_KEY}` }],
    ['is echoed in headers', { headers: { 'x-echo': ENGINE_KEY, 'set-cookie': `k=${ENGINE_KEY}` } }],
    ['goes to an engine that resets', { resetAfterFrames: 0 }],
    ['goes to an engine that is silent', { hang: true }],
  ];
  const ROWS = SCRIPTS.flatMap(([name, script]) =>
    (['prefill', 'decode'] as const).map((leg) => [name, leg, script] as const),
  );

  it.each(ROWS)('is in no answer, row or line where it %s (%s leg)', async (_name, leg, script) => {
    const timeouts = script.hang ? 0.1 : 60;
    const file = {
      serving: { prefill_timeout_s: timeouts, max_attempts: 1 },
      engine: { first_token_timeout_s: timeouts },
    };
    const gateway = await withKeys({ file });
    gateway.fleet.script = { leg, ...script };
    const replies = [];
    for (const stream of [false, true]) {
      replies.push(await gateway.post(CHAT, { messages: HI, stream }, AUTHORIZED));
    }
    expect(JSON.stringify(replies.map(({ headers, text }) => [headers, text]))).not.toContain('CANARY');
    expect(await papers(gateway, 2)).not.toContain('CANARY');
    expect(gateway.legs[0]?.headers.authorization).toBe(`Bearer ${ENGINE_KEY}`);
  });

  it.each([0, 2])(
    'is in no stream where the engine echoes it in an error frame after %i frames',
    async (frames) => {
      const gateway = await withKeys({ file: { serving: { max_attempts: 1 } } });
      gateway.fleet.script = {
        leg: 'decode',
        errorFrameAfter: { frames, error: { ...echo.error, code: 500 } },
      };
      const reply = await gateway.post(CHAT, { messages: HI, stream: true }, AUTHORIZED);
      expect(reply.text).toContain('"error"');
      expect(reply.text).not.toContain('CANARY');
      expect(await papers(gateway, 1)).not.toContain('CANARY');
    },
  );

  it('is in no answer, row or line where the engine refuses the connection', async () => {
    const gateway = await withKeys();
    await gateway.fleet.engine('d0').stop();
    const reply = await gateway.post(CHAT, { messages: HI }, AUTHORIZED);
    expect(reply.status).toBe(502);
    expect(reply.text).not.toMatch(/CANARY|127\.0\.0\.1|ECONN/);
    expect(await papers(gateway, 1)).not.toContain('CANARY');
  });
});

describe('the address of an engine', () => {
  it.each([false, true])(
    'is in no answer where an engine names itself or its producer (stream: %s)',
    async (stream) => {
      const gateway = await startGateway();
      const [producer, own] = ['p0', 'd0'].map((iid) => gateway.fleet.engine(iid).url);
      const message = `pull from ${producer}, ${producer?.slice('http://'.length)} and 127.0.0.1:5600 at ${own}/v1 failed`;
      gateway.fleet.script = {
        leg: 'decode',
        status: 400,
        body: { error: { message, type: 'X', code: 400 } },
      };
      const reply = await gateway.post(CHAT, { messages: HI, stream });
      expect(reply.status).toBe(400);
      expect(reply.text).toContain('pull from [engine], [engine] and [engine] at [engine]/v1 failed');
    },
  );
});

describe('headers of an engine', () => {
  it.each([false, true])('do not reach the client, hop-by-hop or not (stream: %s)', async (stream) => {
    const gateway = await startGateway();
    gateway.fleet.script = {
      leg: 'decode',
      headers: {
        'keep-alive': 'timeout=77',
        'proxy-authenticate': 'Basic',
        trailer: 'x-end',
        upgrade: 'h2c',
        'x-engine': 'secret',
        'x-request-id': 'theirs',
        'set-cookie': 'a=b',
      },
      closeAfterAnswer: true,
    };
    const reply = await gateway.post(CHAT, { messages: HI, stream });
    expect(reply.status).toBe(200);
    const own = ['x-powered-by', 'x-request-id', 'content-type', 'date', 'connection', 'etag'];
    const ours = stream ? ['cache-control', 'x-accel-buffering', 'transfer-encoding'] : ['content-length'];
    expect(
      Object.keys(reply.headers)
        .filter((name) => !own.includes(name))
        .sort(),
    ).toEqual(ours.sort());
    expect(reply.headers['x-request-id']).toBe((await gateway.row()).rid);
  });

  it('that give a stream a length do not give one to the client', async () => {
    const gateway = await startGateway();
    const text =
      'data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';
    gateway.fleet.script = {
      leg: 'decode',
      rawBytes: Buffer.from(text),
      headers: { 'content-length': String(text.length) },
    };
    const reply = await gateway.post(CHAT, { messages: HI, stream: true });
    expect(reply.text).toBe(text);
    expect(reply.headers['content-length']).toBeUndefined();
    expect(reply.headers['transfer-encoding']).toBe('chunked');
  });
});
