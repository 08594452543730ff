/** Answers with status 200 that are odd: in pieces, half, wrong, or an error after all. */
import type { StubScript } from '../../lib/testing';
import { finishFrame, framesOf, normalForm, ROLE_FRAME, textFrame, USAGE_FRAME } from './frames';
import { CHAT, COMPLETIONS, errorOf, HI, type Setup, startGateway } from './gateway';

const ONCE: Setup = { file: { serving: { max_attempts: 1 } } };

async function answered(script: StubScript, body: object = {}, setup: Setup = ONCE) {
  const gateway = await startGateway(setup);
  gateway.fleet.script = script;
  const reply = await gateway.post(CHAT, { messages: HI, ...body });
  return { gateway, reply, row: await gateway.row() };
}

describe('a prefill answer with status 200', () => {
  it('is read whole where it comes byte by byte', async () => {
    const { reply, gateway } = await answered({ leg: 'prefill', cutBytes: 1 });
    expect(reply.status).toBe(200);
    expect(gateway.router.state().handoffs).toMatchObject({ produced: 1, claimed: 1 });
  });

  it.each(['null', '[{"kv_transfer_params":{}}]', '"text"', '7', 'true', '', '{"a":'])(
    'is not understood where it is %j',
    async (text) => {
      const { reply, row } = await answered({ leg: 'prefill', rawBytes: Buffer.from(text) });
      expect(reply.status).toBe(502);
      expect(errorOf(reply)).toMatchObject({ type: 'prefill', code: 'prefill' });
      expect(row).toMatchObject({
        reason: 'invalid_response',
        error: expect.stringMatching(/not a JSON object/),
      });
    },
  );

  it.each([
    [{ error: { message: 'no room', type: 'X', code: 503 } }, 502, 'engine_overloaded'],
    [{ error: { message: 'too long', type: 'BadRequestError', code: 400 } }, 400, 'engine_refused'],
    [{ error: { message: 'no code' } }, 502, 'engine_error'],
    [{ error: { message: 'not a status', code: 'oops' } }, 502, 'engine_error'],
    [{ error: 'a text' }, 502, 'engine_error'],
    [{ error: 'a text beside the code', code: 429 }, 502, 'engine_overloaded'],
    [{ error: false }, 502, 'engine_error'],
  ])('that holds the error %j is what that error is', async (body, status, reason) => {
    const { reply, row } = await answered({ leg: 'prefill', body });
    expect(reply.status).toBe(status);
    expect(row).toMatchObject({ reason, status });
  });

  it('is good where its error is null', async () => {
    const handoff = { do_remote_prefill: true, remote_block_ids: [[1]], remote_request_id: 'r' };
    const body = { error: null, kv_transfer_params: handoff };
    const { reply, gateway } = await answered({ leg: 'prefill', body }, {}, { ...ONCE, breaches: true });
    expect(gateway.legsAt('d0').map(({ json }) => json?.['kv_transfer_params'])).toEqual([handoff]);
    expect(gateway.fleet.breaches.join()).toContain('handoff-unknown');
    expect(reply.status).toBe(200);
  });
});

describe.each([false, true])('a decode answer with status 200 (stream: %s)', (stream) => {
  it('is not understood where it is one JSON document', async () => {
    const { reply, row } = await answered(
      { leg: 'decode', headers: { 'content-type': 'application/json; charset=utf-8' } },
      { stream },
    );
    expect(reply.status).toBe(502);
    expect(row).toMatchObject({
      reason: 'invalid_response',
      error: expect.stringContaining('is JSON, not an event stream'),
    });
  });

  it.each([
    ['whose quotes stand in no JSON', '{"error": oops}', 'invalid_response'],
    ['that is an error with a code', '{"error":{"message":"no room","code":503}}', 'engine_overloaded'],
    ['in the older flat form', '{"object":"error","error":null,"message":"died","code":500}', 'engine_error'],
  ])('fails by its first event %s', async (_words, frame, reason) => {
    const { reply, row } = await answered({ leg: 'decode', rawFrames: [frame] }, { stream });
    expect(reply.status).toBe(502);
    expect(row).toMatchObject({ reason, status: 502 });
  });

  it.each([
    ['a value', '{"id":"c","choices":[],"note":"error"}'],
    ['null', '{"id":"c","choices":[],"error":null}'],
    ['empty', '{"id":"c","choices":[],"error":""}'],
  ])('is good with an event in which "error" is %s', async (_words, frame) => {
    const script = {
      leg: 'decode',
      rawFrames: [frame, ROLE_FRAME, textFrame('one'), finishFrame(), USAGE_FRAME],
    };
    const { reply, row } = await answered(script as StubScript, { stream });
    expect(reply.status).toBe(200);
    expect(reply.text).toContain('one');
    expect(row).toMatchObject({ terminal: 'completed', finish_reason: 'stop' });
  });

  const whole = normalForm(framesOf('one', 'two'));
  const withoutEnd = normalForm(framesOf('one', 'two'), false);

  it.each([
    ['[DONE] without a line end', whole.trimEnd()],
    ['[DONE] with blanks around it', `${withoutEnd}data:  [DONE] \n\n`],
    ['a whole event without a line end', withoutEnd.trimEnd()],
    ['an event cut in the middle, behind the finish reason', `${withoutEnd}data: {"id":"c","cho`],
    ['events without data in between', withoutEnd.replaceAll('\n\n', '\n\ndata:\n\n')],
  ])('is good with %s', async (_words, text) => {
    const { reply, row } = await answered({ leg: 'decode', rawBytes: Buffer.from(text) }, { stream });
    expect(reply.status).toBe(200);
    expect(reply.text).toContain('two');
    expect(reply.text.includes('data: [DONE]\n\n')).toBe(stream);
    expect(row).toMatchObject({ terminal: 'completed', finish_reason: 'stop' });
  });

  it('is an error where that is its last event and has no line end', async () => {
    const text = `${normalForm([ROLE_FRAME, textFrame('one')], false)}data: {"error":{"code":500}}`;
    const { reply, row } = await answered({ leg: 'decode', rawBytes: Buffer.from(text) }, { stream });
    expect(row).toMatchObject({ terminal: 'failed', reason: 'engine_error', status: stream ? 200 : 502 });
    expect(reply.text).toContain('"error"');
  });

  it('is too large where one event alone is above max_response_bytes', async () => {
    const setup = { file: { serving: { max_attempts: 1, max_response_bytes: 2000 } } };
    const rawFrames = [textFrame('x'.repeat(5000)), finishFrame()];
    const { row } = await answered({ leg: 'decode', rawFrames, cutBytes: 500 }, { stream }, setup);
    expect(row).toMatchObject({ terminal: 'failed', reason: 'response_limit' });
  });
});

describe('an answer in one leg', () => {
  const setup: Setup = { stub: { both: 1 }, ...ONCE };
  const choice = { index: 0, text: 'a', logprobs: null };

  it.each([
    [
      {
        choices: [{ ...choice, finish_reason: 'length' }],
        usage: { prompt_tokens: 3, completion_tokens: 4 },
      },
      'length',
      4,
    ],
    [{ choices: [choice], usage: null }, null, null],
    [{ choices: [] }, null, null],
    [{ choices: 'none' }, null, null],
  ])('reaches the client as it is, whatever is missing in it: %j', async (body, finish, length) => {
    const gateway = await startGateway(setup);
    gateway.fleet.script = { leg: 'single', body };
    const reply = await gateway.post(COMPLETIONS, { prompt: 'a', prompt_logprobs: 0 });
    expect([reply.status, JSON.parse(reply.text)]).toEqual([200, body]);
    expect(await gateway.row()).toMatchObject({ finish_reason: finish, output_len: length });
  });
});
