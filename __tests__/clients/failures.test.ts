/** What each client makes of a request that fails: the words of the envelope arrive, and nothing is asked twice. */
import type { StubScript } from '../../lib/testing';
import { until } from '../integration/gateway';
import { openGateway, WAYS } from './clients';

/** A client that would ask again if it were told to. */
const MAY_RETRY = { maxRetries: 1 };

describe.each(WAYS)('$name', ({ ask, streamed }) => {
  it('sees a too long context as such, and does not ask again', async () => {
    const gateway = await openGateway({ stub: { maxModelLen: 8 } });
    const { fault } = await ask({ url: gateway.url, prompt: 'Say much', maxTokens: 64, ...MAY_RETRY });
    expect(fault).toMatchObject({ status: 400, type: 'BadRequestError', code: 'context_length_exceeded' });
    expect(fault?.message).toContain("This model's maximum context length is 8 tokens");
    expect(await gateway.rowsOf(1)).toMatchObject([
      { terminal: 'invalid', reason: 'engine_refused', status: 400, attempts: 1 },
    ]);
  });

  it('sees a wrong key as such, and does not ask again', async () => {
    const gateway = await openGateway();
    const { fault } = await ask({ url: gateway.url, prompt: 'hi', apiKey: 'wrong', ...MAY_RETRY });
    expect(fault).toMatchObject({ status: 401, type: 'authentication_error', code: 'invalid_api_key' });
    expect(fault?.message).toContain('a valid API key is needed');
    expect(await gateway.rowsOf(1)).toMatchObject([{ terminal: 'rejected', attempts: 0 }]);
  });

  it('sees another model as such, and does not ask again', async () => {
    const gateway = await openGateway();
    const { fault } = await ask({ url: gateway.url, prompt: 'hi', model: 'other/model', ...MAY_RETRY });
    expect(fault).toMatchObject({ status: 404, type: 'invalid_request_error', code: 'model_not_found' });
    expect(await gateway.rowsOf(1)).toMatchObject([{ terminal: 'invalid', reason: 'model', attempts: 0 }]);
  });

  it('sees which leg failed, where every attempt did', async () => {
    const gateway = await openGateway({ stub: { decode: 2 } });
    gateway.fleet.script = { leg: 'decode', status: 500 };
    const { fault, text } = await ask({ url: gateway.url, prompt: 'hi' });
    expect(fault).toMatchObject({ status: 502, type: 'decode', code: 'decode' });
    expect(text).toBe('');
    expect(await gateway.rowsOf(1)).toMatchObject([{ terminal: 'failed', status: 502, attempts: 2 }]);
  });

  const ENDS: readonly [string, StubScript, object][] = [
    ['dies', { resetAfterFrames: 3 }, { reason: 'engine_connection' }],
    ['sends an error frame', { errorFrameAfter: { frames: 3, error: { message: 'x', code: 500 } } }, {}],
  ];

  if (streamed) {
    it.each(ENDS)('sees an engine that %s in mid-stream as an error, after the text', async (_, end, row) => {
      const gateway = await openGateway();
      gateway.fleet.script = { leg: 'decode', ...end };
      const { fault, text } = await ask({ url: gateway.url, prompt: 'hi', ...MAY_RETRY });
      expect(text).toMatch(/^Heard ./);
      expect(fault).toMatchObject({ type: 'decode', code: 'failed' });
      expect(fault?.message).toMatch(/decode/);
      expect(await gateway.rowsOf(1)).toMatchObject([
        { terminal: 'failed', status: 200, attempts: 1, ...row },
      ]);
      expect(gateway.legs).toHaveLength(2);
    });
  }

  it('that gives up while tokens are made cuts the decode leg, and the row says so', async () => {
    const gateway = await openGateway();
    const abort = new AbortController();
    const { signal } = abort;
    gateway.fleet.script = { leg: 'decode', hangAfterFrames: 4 };
    const asking = ask({ url: gateway.url, prompt: 'hi', signal, onText: () => abort.abort(), ...MAY_RETRY });
    if (!streamed) {
      await until(() => gateway.legsAt('d0').length === 1);
      abort.abort();
    }
    expect((await asking).fault).not.toBeNull();
    await until(() => gateway.legsAt('d0')[0]?.closedEarly === true);
    expect(await gateway.rowsOf(1)).toMatchObject([
      { terminal: 'cancelled', reason: 'client_closed', cancelled_phase: 'decode', status: 499, attempts: 1 },
    ]);
    expect(gateway.fleet.engines.map(({ inFlight }) => inFlight)).toEqual([0, 0]);
  });

  it('that gives up in the prefill cuts that leg, and no other follows', async () => {
    const gateway = await openGateway();
    const abort = new AbortController();
    gateway.fleet.script = { leg: 'prefill', hang: true, onCall: () => setImmediate(() => abort.abort()) };
    const { fault } = await ask({ url: gateway.url, prompt: 'hi', signal: abort.signal, ...MAY_RETRY });
    expect(fault).not.toBeNull();
    await until(() => gateway.legsAt('p0')[0]?.closedEarly === true);
    expect(await gateway.rowsOf(1)).toMatchObject([
      { terminal: 'cancelled', cancelled_phase: 'prefill', status: 499, attempts: 1 },
    ]);
    expect(gateway.legs.map(({ leg }) => leg)).toEqual(['prefill']);
  });
});
