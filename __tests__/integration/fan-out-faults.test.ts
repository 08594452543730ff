import type { StubCall } from '../../lib/testing';
import { parseEvents } from '../helpers/parse-sse';
import type { Reply } from '../testing/client';
import { COMPLETIONS, errorOf, startGateway, until } from './gateway';
import { StreamClient } from './stream-client';

interface Part {
  readonly index: number;
  readonly text: string;
  readonly finish_reason: string | null;
}

interface Answer {
  readonly id: string;
  readonly choices: Part[];
  readonly usage?: Record<string, number>;
}

function answerOf({ text }: Reply): Answer {
  return JSON.parse(text) as Answer;
}

describe('a list of prompts', () => {
  const isFirst = ({ requestId }: StubCall): boolean => requestId.endsWith('-0');

  it.each([false, true])(
    'fails as a whole where one part fails before output (stream: %s)',
    async (stream) => {
      const gateway = await startGateway({ file: { serving: { max_attempts: 1 } } });
      gateway.fleet.script = (call) => {
        if (call.leg !== 'decode') return undefined;
        return isFirst(call) ? { status: 500 } : { hang: true };
      };
      const reply = await gateway.post(COMPLETIONS, { prompt: ['a', 'b'], stream });
      expect(reply.status).toBe(502);
      expect(errorOf(reply)).toMatchObject({ type: 'decode', code: 'decode' });
      expect(await gateway.row()).toMatchObject({ terminal: 'failed', reason: 'engine_error', parts: 2 });
      await until(() => gateway.fleet.engine('d0').inFlight === 0);
    },
  );

  it('fails with the refusal of the engine where one part is refused', async () => {
    const gateway = await startGateway();
    gateway.fleet.script = (call) => {
      if (call.leg !== 'decode') return undefined;
      const error = { message: 'bad', type: 'BadRequestError', param: 'x', code: 400 };
      return isFirst(call) ? { status: 400, body: { error } } : { hang: true };
    };
    const reply = await gateway.post(COMPLETIONS, { prompt: ['a', 'b'] });
    expect(reply.status).toBe(400);
    expect(errorOf(reply)).toMatchObject({ message: 'bad', param: 'x' });
    expect(await gateway.row()).toMatchObject({ terminal: 'invalid', reason: 'engine_refused' });
  });

  it('ends its stream with one error frame where one part fails after output', async () => {
    const gateway = await startGateway();
    gateway.fleet.script = (call) => {
      if (call.leg !== 'decode') return undefined;
      return isFirst(call) ? { resetAfterFrames: 2 } : { hangAfterFrames: 1 };
    };
    const reply = await gateway.post(COMPLETIONS, { prompt: ['a', 'b'], stream: true });
    expect(reply.status).toBe(200);
    expect(reply.error).toBeUndefined();
    const frames = parseEvents(reply.text);
    expect(JSON.parse(frames.at(-1)!)).toMatchObject({
      error: { type: 'decode', param: null, code: 'failed' },
    });
    expect(frames.filter((frame) => frame.includes('"error"'))).toHaveLength(1);
    expect(reply.text).not.toContain('[DONE]');
    expect(await gateway.row()).toMatchObject({
      terminal: 'failed',
      reason: 'engine_connection',
      status: 200,
    });
    await until(() => gateway.fleet.engine('d0').inFlight === 0);
  });

  it('retries a part alone, with a fresh prefill and backend ids of the second attempt', async () => {
    const gateway = await startGateway({ stub: { prefill: 2, decode: 2 } });
    gateway.fleet.script = (call) =>
      call.requestId.endsWith('-a1-decode-1') ? { leg: 'decode', status: 500 } : undefined;
    const reply = await gateway.post(COMPLETIONS, { prompt: ['a', 'b'] });
    expect(reply.status).toBe(200);
    const row = await gateway.row();
    expect(row).toMatchObject({ terminal: 'completed', attempts: 2, parts: 2 });
    expect(row.attempt_failures).toMatchObject([
      { attempt: 1, leg: 'decode', reason: 'engine_error', status: 500 },
    ]);
    const ids = gateway.legs.map(({ requestId }) => requestId.slice(row.rid.length)).sort();
    expect(ids).toEqual([
      '-a1-decode-0',
      '-a1-decode-1',
      '-a1-prefill-0',
      '-a1-prefill-1',
      '-a2-decode-1',
      '-a2-prefill-1',
    ]);
  });

  it('keeps at most max_attempts failures in its row', async () => {
    const gateway = await startGateway({ stub: { decode: 2 } });
    gateway.fleet.script = (call) => (call.requestId.includes('-a1-decode') ? { status: 500 } : undefined);
    const reply = await gateway.post(COMPLETIONS, { prompt: ['a', 'b', 'c', 'd'] });
    expect(reply.status).toBe(200);
    expect((await gateway.row()).attempt_failures).toHaveLength(2);
  });

  describe('whose answer has a limit', () => {
    const long = { content: Array<string>(14).fill('x'.repeat(1000)) };
    const file = { serving: { max_response_bytes: 20_000 } };

    it('may give most of it to one part', async () => {
      const gateway = await startGateway({ file });
      gateway.fleet.script = (call) =>
        call.leg === 'decode' && isFirst(call) ? { generation: long } : undefined;
      const reply = await gateway.post(COMPLETIONS, { prompt: ['a', 'b', 'c', 'd'], max_tokens: 99 });
      expect([reply.status, answerOf(reply).choices[0]?.text.length]).toEqual([200, 14_000]);
    });

    it('is 502 where the parts together are above it', async () => {
      const gateway = await startGateway({ file });
      gateway.fleet.script = { leg: 'decode', generation: long };
      const reply = await gateway.post(COMPLETIONS, { prompt: ['a', 'b'], max_tokens: 99 });
      expect(reply.status).toBe(502);
      expect(await gateway.row()).toMatchObject({ terminal: 'failed', reason: 'response_limit' });
    });

    it('counts no bytes of an attempt that was given up', async () => {
      const gateway = await startGateway({ file, stub: { prefill: 2, decode: 2 } });
      gateway.fleet.script = (call) => {
        if (call.leg !== 'decode' || !/-decode-0$/.test(call.requestId)) return undefined;
        return { generation: long, ...(call.requestId.includes('-a1-') && { resetAfterFrames: 14 }) };
      };
      const reply = await gateway.post(COMPLETIONS, { prompt: ['a', 'b'], max_tokens: 99 });
      expect([reply.status, answerOf(reply).choices[0]?.text.length]).toEqual([200, 14_000]);
      expect(await gateway.row()).toMatchObject({ attempts: 2 });
    });
  });

  it('holds every engine back while the client does not read', async () => {
    const gateway = await startGateway();
    gateway.fleet.script = { leg: 'decode', endless: { bytesPerFrame: 20_000, totalBytes: 30e6 } };
    const client = new StreamClient(gateway.url + COMPLETIONS, { prompt: ['a', 'b'], stream: true });
    await client.sees('xxx');
    client.pause();
    await until(() => gateway.legsAt('d0').filter(({ paused }) => paused).length === 2);
    let before = -1;
    const written = () => gateway.legsAt('d0').reduce((sum, { bytesWritten }) => sum + bytesWritten, 0);
    while (before !== written()) {
      before = written();
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    expect(written()).toBeLessThan(30e6);
    client.leave();
    expect(await gateway.row()).toMatchObject({ terminal: 'cancelled', parts: 2 });
  });

  it('has the first output of any part as its first byte', async () => {
    const gateway = await startGateway();
    gateway.fleet.script = (call) =>
      call.leg === 'decode' && isFirst(call) ? { frameDelayMs: 100 } : undefined;
    expect((await gateway.post(COMPLETIONS, { prompt: ['a', 'b'] })).status).toBe(200);
    const { first_byte_s, duration_s } = await gateway.row();
    // The slow part has its first frame after 100 ms and four more frames at least.
    expect(duration_s - (first_byte_s ?? 0)).toBeGreaterThan(0.4);
  });

  it('is cut in all its parts when the client leaves', async () => {
    const gateway = await startGateway();
    gateway.fleet.script = { leg: 'decode', hangAfterFrames: 1 };
    const client = new StreamClient(gateway.url + COMPLETIONS, { prompt: ['a', 'b', 'c'], stream: true });
    await until(() => gateway.legsAt('d0').length === 3);
    await client.sees('"text"');
    client.leave();
    await until(() => gateway.fleet.engine('d0').inFlight === 0);
    expect(gateway.legsAt('d0').map(({ closedEarly }) => closedEarly)).toEqual([true, true, true]);
    expect(await gateway.row()).toMatchObject({ terminal: 'cancelled', cancelled_phase: 'decode', parts: 3 });
  });
});
