/** Error answers of engines whose bodies are long, cut or no HTTP at all. */
import { openEngine } from '../engines/wire/raw-engine';
import { CHAT, errorOf, HI, type Setup, startGateway } from './gateway';

const ONCE = { serving: { max_attempts: 1 } };

describe.each(['prefill', 'decode'] as const)('an error answer of the %s leg', (leg) => {
  it('is not read to its end where that is far off: what came of it is told', async () => {
    const gateway = await startGateway({ file: ONCE });
    gateway.fleet.script = { leg, status: 422, body: `too long: ${'x'.repeat(2_000_000)}` };
    const reply = await gateway.post(CHAT, { messages: HI });
    expect(reply.status).toBe(422);
    expect(String(errorOf(reply)['message'])).toMatch(/^too long: x+/);
    expect(reply.text.length).toBeLessThan(10_000);
    expect(await gateway.row()).toMatchObject({ reason: 'engine_refused', status: 422 });
  });

  it.each([
    [422, 422, 'engine_refused'],
    [503, 502, 'engine_overloaded'],
  ])('with status %i that is cut in the middle of its body is that status', async (sent, status, reason) => {
    const gateway = await startGateway({ file: ONCE });
    gateway.fleet.script = { leg, status: sent, body: 'half of this is sent', resetAfterFrames: 1 };
    const reply = await gateway.post(CHAT, { messages: HI });
    expect(reply.status).toBe(status);
    expect(await gateway.row()).toMatchObject({ reason, status });
  });
});

describe('an engine that speaks no HTTP', () => {
  it.each([
    'SSH-2.0-OpenSSH_9.6\r\n',
    'HTTP/1.1 abc\r\n\r\n',
    'HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n',
  ])('is 502, and what it said reaches nobody: %j', async (bytes) => {
    const engine = await openEngine(({ socket }) => void socket.write(bytes));
    const engines = [{ iid: 'b0', url: engine.config.url, role: 'both' }];
    const setup: Setup = { file: { ...ONCE, engines }, breaches: true };
    const gateway = await startGateway(setup);
    const reply = await gateway.post(CHAT, { messages: HI });
    expect(reply.status).toBe(502);
    expect(reply.text).not.toContain('SSH');
    expect(await gateway.row()).toMatchObject({ terminal: 'failed', reason: 'invalid_response' });
  });
});
