import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { StubScript } from '../../lib/testing';
import { CHAT, COMPLETIONS, choicesOf, errorOf, HI, type Setup, startGateway, until } from './gateway';

const ONCE: Setup['file'] = { serving: { max_attempts: 1 } };
const BODY = { messages: HI };

describe.each([false, true])('an engine that refuses the request (stream: %s)', (stream) => {
  const REFUSALS: [string, StubScript, number, object][] = [
    [
      'decode: a context that is too long',
      {
        leg: 'decode',
        status: 400,
        body: {
          error: {
            message: 'This maximum context length is 8192',
            type: 'BadRequestError',
            param: null,
            code: 400,
          },
        },
      },
      400,
      {
        message: 'This maximum context length is 8192',
        type: 'BadRequestError',
        code: 'context_length_exceeded',
      },
    ],
    [
      'decode: 422',
      {
        leg: 'decode',
        status: 422,
        body: { error: { message: 'bad logit_bias', type: 'X', param: 'logit_bias', code: 422 } },
      },
      422,
      { message: 'bad logit_bias', type: 'X', param: 'logit_bias', code: 422 },
    ],
    [
      'decode: the older flat form',
      {
        leg: 'decode',
        status: 400,
        body: { object: 'error', message: 'bad template', type: 'BadRequestError', param: null, code: 400 },
      },
      400,
      { message: 'bad template', type: 'BadRequestError', code: 400 },
    ],
    [
      'decode: a text that is no JSON',
      { leg: 'decode', status: 400, body: 'Bad things\n' },
      400,
      { message: 'Bad things', type: 'invalid_request_error', code: null },
    ],
    ['decode: no body', { leg: 'decode', status: 418, body: '' }, 418, { type: 'invalid_request_error' }],
    [
      'prefill: 400',
      {
        leg: 'prefill',
        status: 400,
        body: { error: { message: 'bad image', type: 'BadRequestError', param: 'messages', code: 400 } },
      },
      400,
      { message: 'bad image', type: 'BadRequestError', param: 'messages', code: 400 },
    ],
    [
      'prefill: 404',
      { leg: 'prefill', status: 404, body: { detail: 'Not Found' } },
      404,
      { message: 'Not Found', type: 'invalid_request_error' },
    ],
  ];

  it.each(REFUSALS)(
    'is answered with its status and its text, once: %s',
    async (_name, script, status, error) => {
      const gateway = await startGateway({ stub: { prefill: 2, decode: 2 } });
      gateway.fleet.script = script;
      const reply = await gateway.post(CHAT, { ...BODY, stream });
      expect(reply.status).toBe(status);
      expect(reply.headers).toMatchObject({
        'content-type': 'application/json',
        'x-narwhal-reason': 'engine_refused',
      });
      expect(reply.headers['retry-after']).toBeUndefined();
      expect(errorOf(reply)).toMatchObject(error);
      expect(reply.text).not.toContain('[object');
      const row = await gateway.row();
      expect(row).toMatchObject({ terminal: 'invalid', reason: 'engine_refused', status, attempts: 1 });
      const calls = gateway.legs;
      expect(calls.map(({ leg }) => leg)).toEqual(
        script.leg === 'prefill' ? ['prefill'] : ['prefill', 'decode'],
      );
    },
  );

  it('has its error body read to the end, so that the socket is used again', async () => {
    const gateway = await startGateway();
    const error = { message: `bad ${'x'.repeat(30_000)}`, type: 'X', param: null, code: 422 };
    gateway.fleet.script = { leg: 'prefill', status: 422, body: { error } };
    for (let i = 0; i < 4; i++) await gateway.post(CHAT, { ...BODY, stream });
    expect(gateway.fleet.engine('p0').openSockets).toBe(1);
  });
});

describe.each([false, true])('a fault of an engine (stream: %s)', (stream) => {
  const FAULTS: [string, StubScript, number, string, string][] = [
    ['401', { status: 401 }, 502, 'engine_auth', 'did not accept the credential'],
    ['403', { status: 403 }, 502, 'engine_auth', 'did not accept the credential'],
    ['408', { status: 408 }, 504, 'engine_timeout', 'did not answer in time'],
    ['429', { status: 429, retryAfter: 7 }, 502, 'engine_overloaded', 'has no room'],
    [
      '429 until a date',
      { status: 429, retryAfter: new Date(Date.now() + 2000).toUTCString() },
      502,
      'engine_overloaded',
      'has no room',
    ],
    ['500', { status: 500 }, 502, 'engine_error', 'failed'],
    ['503', { status: 503 }, 502, 'engine_overloaded', 'has no room'],
    ['504', { status: 504 }, 504, 'engine_timeout', 'did not answer in time'],
    ['307', { redirect: 'http://127.0.0.1:1/' }, 502, 'engine_error', 'failed'],
    ['reset before the head', { resetAfterFrames: 0 }, 502, 'engine_connection', 'closed the connection'],
    ['not an answer', { body: '{"oops"' }, 502, 'invalid_response', 'could not be understood'],
  ];

  it.each(FAULTS.flatMap((fault) => (['prefill', 'decode'] as const).map((leg) => [...fault, leg] as const)))(
    '%s: %j is %i %s, "%s", on the %s leg',
    async (name, script, status, reason, words, leg) => {
      if (name === 'not an answer' && leg === 'decode') return;
      const gateway = await startGateway({ file: ONCE });
      gateway.fleet.script = { ...script, leg };
      const reply = await gateway.post(CHAT, { ...BODY, stream });
      expect(reply.status).toBe(status);
      expect(reply.headers).toMatchObject({ 'content-type': 'application/json', 'x-narwhal-reason': reason });
      expect(reply.headers['retry-after']).toBeUndefined();
      const error = errorOf(reply);
      expect(error).toMatchObject({ type: leg, param: null, code: leg });
      expect(error['message']).toContain(words);
      expect(error['message']).not.toMatch(/127\.0\.0\.1|rate limit|invalid_request_error/i);
      expect(await gateway.row()).toMatchObject({ terminal: 'failed', reason, status });
    },
  );

  it.each(['prefill', 'decode'] as const)('that refuses connections is 502 on the %s leg', async (leg) => {
    const gateway = await startGateway({ file: ONCE });
    await gateway.fleet.engine(leg === 'prefill' ? 'p0' : 'd0').stop();
    const reply = await gateway.post(CHAT, { ...BODY, stream });
    expect(reply.status).toBe(502);
    expect(errorOf(reply)).toMatchObject({ type: leg, message: `the ${leg} engine could not be reached` });
    expect(await gateway.row()).toMatchObject({ terminal: 'failed', reason: 'engine_unreachable' });
  });

  const NO_HANDOFF: [string, StubScript][] = [
    ['there is none', { noHandoff: true }],
    ['it is empty', { handoffText: '{}' }],
    ['it is no object', { handoffText: '"x"' }],
    ['it names no blocks', { handoffText: '{"do_remote_prefill":true,"remote_block_ids":[[]]}' }],
  ];

  it.each(NO_HANDOFF)('that answers a prefill without a handoff is 502: %s', async (_name, script) => {
    const gateway = await startGateway({ file: ONCE });
    gateway.fleet.script = { leg: 'prefill', ...script };
    const reply = await gateway.post(CHAT, { ...BODY, stream });
    expect(reply.status).toBe(502);
    expect(errorOf(reply)).toMatchObject({ type: 'prefill', code: 'prefill' });
    expect(await gateway.row()).toMatchObject({
      terminal: 'failed',
      reason: 'kv_handoff',
      decode_attempts: 0,
    });
    expect(gateway.legsAt('d0')).toEqual([]);
  });
});

describe('a handoff', () => {
  it('is taken from choices[0] where the engine put it there, as text', async () => {
    const gateway = await startGateway();
    gateway.fleet.script = { leg: 'prefill', handoffInChoice: true };
    expect((await gateway.post(CHAT, BODY)).status).toBe(200);
    const [prefill, decode] = gateway.legs;
    expect(prefill?.handoff).toContain('1152921504606846977');
    expect(decode?.body.toString('utf8')).toContain(`"kv_transfer_params":${prefill?.handoff}`);
  });

  it('is used although the one token of the prefill was the end of the text', async () => {
    const gateway = await startGateway();
    gateway.fleet.script = { leg: 'prefill', generation: { content: [''], finishReason: 'stop' } };
    expect((await gateway.post(CHAT, BODY)).status).toBe(200);
    expect(gateway.fleet.ledger).toMatchObject({ produced: 1, claimed: 1 });
  });

  it('is always the one of the request itself, also when the engine behind the address has changed', async () => {
    const gateway = await startGateway();
    const engine = gateway.fleet.engine('p0');
    const ids: string[] = [];
    for (const _round of [1, 2]) {
      for (const body of [BODY, { ...BODY, stream: true }]) {
        expect((await gateway.post(CHAT, body)).status).toBe(200);
        ids.push(engine.engineId);
      }
      await engine.stop();
      await engine.start();
    }
    const sent = gateway.legsAt('d0').map(({ json }) => json?.['kv_transfer_params']);
    expect(sent).toMatchObject(ids.map((id) => ({ remote_engine_id: id })));
    expect(new Set(ids).size).toBe(2);
  });
});

describe('an engine address', () => {
  it.each([
    ['IPv6', { host: '::1' }],
    ['a path prefix', { prefix: '/engines/a' }],
    ['IPv6 with a path prefix', { host: '::1', prefix: '/v2' }],
  ] as const)('with %s works on both legs', async (_name, stub) => {
    const gateway = await startGateway({ stub });
    for (const [path, body] of [
      [CHAT, BODY],
      [COMPLETIONS, { prompt: 'hi', stream: true }],
    ] as const) {
      expect((await gateway.post(path, body)).status).toBe(200);
    }
    expect(gateway.legs.map(({ leg, path }) => [leg, path])).toEqual([
      ['prefill', CHAT],
      ['decode', CHAT],
      ['prefill', COMPLETIONS],
      ['decode', COMPLETIONS],
    ]);
  });
});

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

describe('a pooled socket that the engine has closed', () => {
  it('is no failure: the call is made again on a new one, unseen', async () => {
    const gateway = await startGateway({ stub: { keepAliveTimeoutMs: 50 } });
    for (let pair = 0; pair < 60; pair++) {
      await gateway.post(CHAT, BODY);
      await new Promise((resolve) => setTimeout(resolve, 45 + (pair % 16)));
      const reply = await gateway.post(CHAT, BODY);
      expect(reply.status).toBe(200);
    }
    for (const row of await gateway.rowsOf(120)) {
      expect(row).toMatchObject({ terminal: 'completed', attempts: 1, attempt_failures: [] });
    }
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

describe('a redirect of an engine', () => {
  it.each(['prefill', 'decode'] as const)('of the %s leg is not followed', async (leg) => {
    const seen: string[] = [];
    const other = createServer((req, res) => {
      seen.push(req.url ?? '');
      res.end('{}');
    });
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const { port } = other.address() as AddressInfo;
    const gateway = await startGateway({ file: ONCE });
    gateway.fleet.script = { leg, redirect: `http://127.0.0.1:${port}${CHAT}` };
    const reply = await gateway.post(CHAT, BODY);
    expect(reply.status).toBe(502);
    expect(reply.headers['location']).toBeUndefined();
    expect(reply.text).not.toContain(String(port));
    expect(seen).toEqual([]);
    await new Promise((resolve) => other.close(resolve));
  });
});
