import type { StubScript } from '../../lib/testing';
import { framesOf, normalForm, USAGE_FRAME } from './frames';
import { CHAT, errorOf, type Gateway, HI, type Setup, startGateway, until } from './gateway';

const BODY = { messages: HI, stream: true };

async function streamed(script: StubScript, more: Setup = {}): Promise<{ gateway: Gateway; text: string }> {
  const gateway = await startGateway(more);
  gateway.fleet.script = { leg: 'decode', ...script };
  const reply = await gateway.post(CHAT, BODY);
  expect(reply.status).toBe(200);
  expect(reply.error).toBeUndefined();
  return { gateway, text: reply.text };
}

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
