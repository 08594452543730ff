/** What only LangChain does. */
import { ContextOverflowError } from '@langchain/core/errors';
import { HumanMessage, ToolMessage } from '@langchain/core/messages';
import { until } from '../integration/gateway';
import { openGateway } from './clients';
import { chatModel, langchain } from './langchain-client';

describe('LangChain', () => {
  it.each(['ask', 'stream'] as const)('recognises a too long context as its own error (%s)', async (way) => {
    const { url } = await openGateway({ stub: { maxModelLen: 8 } });
    const { fault } = await langchain[way]({ url, prompt: 'Say much', maxTokens: 64 });
    expect(ContextOverflowError.isInstance(fault?.error)).toBe(true);
  });

  it.each([
    ['MODEL_AUTHENTICATION', { apiKey: 'wrong' }],
    ['MODEL_NOT_FOUND', { model: 'other/model' }],
  ])('maps the error to %s', async (lc_error_code, wrong) => {
    const { url } = await openGateway();
    const { fault } = await langchain.ask({ url, prompt: 'hi', ...wrong });
    expect(fault?.error).toMatchObject({ lc_error_code });
  });

  it('asks for usage by itself, and finds it on the stream', async () => {
    const gateway = await openGateway();
    const { usage } = await langchain.stream({ url: gateway.url, prompt: 'hi' });
    const { input_len, output_len } = await gateway.row();
    expect(usage).toEqual({ input: input_len, output: output_len });
  });

  it('leaves a stream by breaking out of the loop: the decode leg is cut', async () => {
    const gateway = await openGateway();
    gateway.fleet.script = { leg: 'decode', hangAfterFrames: 3 };
    for await (const { text } of await chatModel({ url: gateway.url, prompt: 'hi' }).stream('hi')) {
      if (text !== '') break;
    }
    expect(await gateway.row()).toMatchObject({
      terminal: 'cancelled',
      reason: 'client_closed',
      cancelled_phase: 'decode',
    });
    await until(() => gateway.legsAt('d0')[0]?.closedEarly === true);
  });

  it('sends the result of a tool back, and gets an answer to it', async () => {
    const gateway = await openGateway();
    const toolCalls = [{ id: 'call_a', name: 'weather', argumentPieces: ['{"note":"Oslo"}'] }];
    gateway.fleet.engine('d0').script = [{ generation: { toolCalls } }];
    const chat = chatModel({ url: gateway.url, prompt: '', tools: true });
    const asked = new HumanMessage('weather?');
    const call = await chat.invoke([asked]);
    const result = new ToolMessage({ content: 'fair in Oslo', tool_call_id: call.tool_calls?.[0]?.id ?? '' });
    expect((await chat.invoke([asked, call, result])).text).toMatch(/^Heard ./);
    const { messages } = gateway.legsAt('d0')[1]!.json as { messages: unknown[] };
    expect(messages.at(-1)).toMatchObject({ role: 'tool', tool_call_id: 'call_a', content: 'fair in Oslo' });
    expect(await gateway.rowsOf(2)).toMatchObject([
      { finish_reason: 'tool_calls' },
      { finish_reason: 'stop' },
    ]);
  });

  it('runs several questions of a batch side by side, one row for each', async () => {
    const gateway = await openGateway({ stub: { decode: 2 } });
    const prompts = ['Say nonce-b1', 'Say nonce-b2', 'Say nonce-b3'];
    const answers = await chatModel({ url: gateway.url, prompt: '' }).batch(prompts);
    expect(answers.map(({ text }, at) => text.includes(`nonce-b${at + 1}`))).toEqual([true, true, true]);
    expect((await gateway.rowsOf(3)).map(({ terminal }) => terminal)).toEqual(Array(3).fill('completed'));
  });
});
