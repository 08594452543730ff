/** The Vercel AI SDK with its provider for OpenAI-compatible servers. */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { APICallError, generateText, jsonSchema, RetryError, streamText, tool } from 'ai';
import { type Client, type Fault, failed, filled, type Question, TOOL } from './client';

/** The error of the last try, and the envelope in it. A frame in a stream arrives as the bare envelope. */
function faultOf(error: unknown): Fault {
  const last = RetryError.isInstance(error) ? error.lastError : error;
  const frame = last as { message: string; type?: unknown; code?: unknown };
  if (!APICallError.isInstance(last)) {
    return { error, status: undefined, message: frame.message, type: frame.type, code: frame.code };
  }
  const { error: envelope } = last.data as { error: { type: unknown; code: unknown } };
  return {
    error,
    status: last.statusCode,
    message: last.message,
    type: envelope.type,
    code: envelope.code,
  };
}

/** What `generateText` and `streamText` are given. */
export function settings(question: Question, includeUsage = true) {
  const { url, apiKey, maxRetries, model, prompt, tools, maxTokens, signal } = filled(question);
  const provider = createOpenAICompatible({ name: 'narwhal', baseURL: `${url}/v1`, apiKey, includeUsage });
  const weather = tool({
    description: TOOL.description,
    inputSchema: jsonSchema<{ note: string }>(TOOL.schema),
    execute: ({ note }) => `fair in ${note}`,
  });
  return {
    model: provider(model),
    prompt,
    maxRetries,
    ...(maxTokens !== undefined && { maxOutputTokens: maxTokens }),
    ...(tools && { tools: { [TOOL.name]: weather } }),
    ...(signal && { abortSignal: signal }),
  };
}

type Calls = readonly { readonly toolCallId: string; readonly toolName: string; readonly input: unknown }[];

function callsOf(calls: Calls) {
  return calls.map(({ toolCallId, toolName, input }) => ({ id: toolCallId, name: toolName, input }));
}

export const aiSdk: Client = {
  name: 'the AI SDK',

  async ask(question) {
    try {
      const { text, toolCalls, finishReason, usage } = await generateText(settings(question));
      return {
        text,
        toolCalls: callsOf(toolCalls),
        finish: finishReason,
        usage: { input: usage.inputTokens, output: usage.outputTokens },
        fault: null,
      };
    } catch (error) {
      return failed(faultOf(error));
    }
  },

  async stream(question) {
    // Without a handler of its own the SDK writes errors to the console.
    const answer = streamText({ ...settings(question), onError: () => undefined });
    let text = '';
    let fault: Fault | null = null;
    for await (const part of answer.fullStream) {
      if (part.type === 'text-delta') {
        text += part.text;
        question.onText?.(part.text);
      }
      if (part.type === 'error') fault = faultOf(part.error);
      if (part.type === 'abort') fault = { ...faultOf(new Error('aborted')), error: part };
    }
    if (fault !== null) return failed(fault, text);
    const { inputTokens, outputTokens } = await answer.usage;
    return {
      text,
      toolCalls: callsOf(await answer.toolCalls),
      finish: await answer.finishReason,
      usage: { input: inputTokens, output: outputTokens },
      fault,
    };
  },
};
