/** Answers and tool calls, as each client puts them together. */
import type { ToolCallPlan } from '../../lib/testing';
import { answerOf, CLIENTS, openGateway, WAYS } from './clients';

const PLANS: readonly ToolCallPlan[] = [
  { id: 'call_a', name: 'weather', argumentPieces: ['{"note":', '"', 'Z\u00fcrich', '"}'] },
  { id: 'call_b', name: 'weather', argumentPieces: ['{"no', 'te":"Oslo"}'] },
];
const CALLS = [
  { id: 'call_a', name: 'weather', input: { note: 'Z\u00fcrich' } },
  { id: 'call_b', name: 'weather', input: { note: 'Oslo' } },
];

describe.each(WAYS)('$name', ({ ask, streamed }) => {
  it('gets the text, the reason for its end and the usage, in one request', async () => {
    const gateway = await openGateway();
    const seen = await answerOf(ask, { url: gateway.url, prompt: 'Say nonce-cli1' });
    expect(seen.text).toContain('nonce-cli1');
    expect(seen.finish).toBe('stop');
    const rows = await gateway.rowsOf(1);
    expect(rows).toHaveLength(1);
    expect(rows[0]).toMatchObject({
      terminal: 'completed',
      status: 200,
      stream: streamed,
      attempts: 1,
      input_len: seen.usage.input,
      output_len: seen.usage.output,
    });
    expect(seen.usage.output).toBeGreaterThan(0);
  });

  it('gets one tool call', async () => {
    const gateway = await openGateway();
    gateway.fleet.engine('d0').script = { generation: { toolCalls: PLANS.slice(0, 1) } };
    const seen = await answerOf(ask, { url: gateway.url, prompt: 'weather?', tools: true });
    expect(seen.toolCalls).toEqual(CALLS.slice(0, 1));
    expect(seen.finish).toMatch(/^tool.calls$/);
    expect(await gateway.rowsOf(1)).toMatchObject([{ terminal: 'completed', attempts: 1 }]);
  });

  it.each([false, true])('gets two parallel tool calls (interleaved: %s)', async (interleaveToolCalls) => {
    const gateway = await openGateway();
    gateway.fleet.engine('d0').script = { generation: { toolCalls: PLANS, interleaveToolCalls } };
    const seen = await answerOf(ask, { url: gateway.url, prompt: 'weather?', tools: true });
    expect(seen.toolCalls).toEqual(CALLS);
    expect(await gateway.rowsOf(1)).toMatchObject([{ terminal: 'completed', attempts: 1 }]);
  });

  it('gets text and a tool call in one answer', async () => {
    const gateway = await openGateway();
    gateway.fleet.engine('d0').script = {
      generation: { content: ['Let me ', 'look.'], toolCalls: PLANS.slice(1) },
    };
    const seen = await answerOf(ask, { url: gateway.url, prompt: 'weather?', tools: true });
    expect(seen).toMatchObject({ text: 'Let me look.', toolCalls: CALLS.slice(1) });
  });

  it('does not see a failure that another engine made good', async () => {
    const gateway = await openGateway({ stub: { decode: 2 } });
    gateway.fleet.script = [{ leg: 'decode', resetAfterFrames: 1 }];
    const seen = await answerOf(ask, { url: gateway.url, prompt: 'Say nonce-cli2' });
    expect(seen.text).toContain('nonce-cli2');
    expect(await gateway.rowsOf(1)).toMatchObject([{ terminal: 'completed', attempts: 2 }]);
  });
});

describe.each(CLIENTS)('$name', ({ ask, stream }) => {
  it('gets the same text streamed and not', async () => {
    const { url } = await openGateway();
    const question = { url, prompt: 'Say nonce-cli3' };
    expect((await answerOf(stream, question)).text).toBe((await answerOf(ask, question)).text);
  });
});
