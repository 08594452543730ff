/** What only the AI SDK does. */
import { APICallError, generateText, RetryError, stepCountIs, streamText } from 'ai';
import { settings } from './ai-sdk-client';
import { openGateway } from './clients';

describe('the AI SDK', () => {
  it('gets no usage of a stream for which it did not ask: the frame stays out', async () => {
    const gateway = await openGateway();
    const answer = streamText(settings({ url: gateway.url, prompt: 'hi' }, false));
    expect(await answer.text).toMatch(/^Heard ./);
    expect((await answer.usage).outputTokens).toBeUndefined();
    expect((await gateway.row()).output_len).toBeGreaterThan(0);
  });

  it.each(['reasoning', 'reasoning_content'] as const)(
    'tells reasoning from text, streamed and not, where the engine calls it %s',
    async (reasoningField) => {
      const gateway = await openGateway();
      const generation = { reasoning: ['Hm, ', 'well.'], content: ['Yes.'], reasoningField };
      gateway.fleet.engine('d0').script = { generation };
      const asked = settings({ url: gateway.url, prompt: 'hi' });
      const streamed = streamText(asked);
      expect([await streamed.reasoningText, await streamed.text]).toEqual(['Hm, well.', 'Yes.']);
      const whole = await generateText(asked);
      expect([whole.reasoningText, whole.text]).toEqual(['Hm, well.', 'Yes.']);
    },
  );

  it('gets the parts of a stream that breaks in order: text, then one error, then an end for that reason', async () => {
    const gateway = await openGateway();
    gateway.fleet.script = { leg: 'decode', resetAfterFrames: 3 };
    const errors: unknown[] = [];
    const onError = ({ error }: { error: unknown }): void => {
      errors.push(error);
    };
    const answer = streamText({ ...settings({ url: gateway.url, prompt: 'hi' }), onError });
    const types: string[] = [];
    for await (const { type } of answer.fullStream) if (types.at(-1) !== type) types.push(type);
    expect(types).toEqual(['start', 'start-step', 'text-start', 'text-delta', 'error', ...types.slice(5)]);
    expect(types.slice(5)).not.toContain('text-delta');
    expect(errors).toMatchObject([{ type: 'decode', code: 'failed', param: null }]);
    expect(await answer.finishReason).toBe('error');
  });

  it('sends the result of a tool back, and gets an answer to it', async () => {
    const gateway = await openGateway();
    const toolCalls = [{ id: 'call_a', name: 'weather', argumentPieces: ['{"note":"Oslo"}'] }];
    gateway.fleet.engine('d0').script = [{ generation: { toolCalls } }];
    const asked = settings({ url: gateway.url, prompt: 'weather?', tools: true });
    const { steps, text } = await generateText({ ...asked, stopWhen: stepCountIs(2) });
    expect(steps).toHaveLength(2);
    expect(text).toMatch(/^Heard ./);
    const { messages } = gateway.legsAt('d0')[1]!.json as { messages: unknown[] };
    expect(messages.at(-1)).toMatchObject({ role: 'tool', tool_call_id: 'call_a', content: 'fair in Oslo' });
    expect(await gateway.rowsOf(2)).toMatchObject([
      { finish_reason: 'tool_calls' },
      { finish_reason: 'stop' },
    ]);
  });

  it('knows which errors may be tried again', async () => {
    const gateway = await openGateway({ stub: { maxModelLen: 8 } });
    const failureOf = (asked: Promise<unknown>): Promise<unknown> =>
      asked.then(
        () => null,
        (error: unknown) => error,
      );
    const tooLong = await failureOf(
      generateText(settings({ url: gateway.url, prompt: 'hi', maxTokens: 64 })),
    );
    expect(APICallError.isInstance(tooLong) && tooLong.isRetryable).toBe(false);
    await gateway.router.close();
    const closing = await failureOf(generateText(settings({ url: gateway.url, prompt: 'hi' })));
    const last = RetryError.isInstance(closing) ? closing.lastError : closing;
    expect(last).toMatchObject({ isRetryable: true, statusCode: 503 });
    expect((last as APICallError).responseHeaders).toMatchObject({
      'retry-after': '1',
      'x-request-id': (await gateway.rowsOf(2))[1]?.rid,
    });
  });
});
