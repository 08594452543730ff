import type { StubScript } from '../../lib/testing';
import { CHAT, errorOf, HI, type Setup, startGateway } from './gateway';

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
