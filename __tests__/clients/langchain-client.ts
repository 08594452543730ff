/** LangChain.js. */
import type { AIMessageChunk, UsageMetadata } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';
import { type Client, type Fault, failed, filled, type Question, type Seen, TOOL } from './client';

/** LangChain wraps some errors of the openai SDK and leaves others as they are. */
function faultOf(error: unknown): Fault {
  const { cause, ...own } = error as { cause?: object };
  const { message } = error as Error;
  const { status, type, code } = { ...cause, ...own } as Partial<Fault>;
  return { error, status, message, type, code };
}

/** The model, ready for a question. */
export function chatModel(question: Question) {
  const { url, apiKey, maxRetries, model, tools, maxTokens } = filled(question);
  const chat = new ChatOpenAI({
    model,
    apiKey,
    maxRetries,
    ...(maxTokens !== undefined && { maxTokens }),
    configuration: { baseURL: `${url}/v1` },
  });
  const { name, description, schema } = TOOL;
  return chat.withConfig({
    ...(tools && { tools: [{ type: 'function', function: { name, description, parameters: schema } }] }),
    ...(question.signal && { signal: question.signal }),
  });
}

function usageOf(usage: UsageMetadata | undefined): Seen['usage'] {
  return { input: usage?.input_tokens, output: usage?.output_tokens };
}

function seenOf(message: AIMessageChunk): Seen {
  const { tool_calls: calls = [], response_metadata: metadata } = message;
  return {
    text: message.text,
    toolCalls: calls.map(({ id = '', name, args }) => ({ id, name, input: args })),
    finish: metadata['finish_reason'] as string | undefined,
    usage: usageOf(message.usage_metadata),
    fault: null,
  };
}

export const langchain: Client = {
  name: 'LangChain',

  async ask(question) {
    try {
      return seenOf(await chatModel(question).invoke(question.prompt));
    } catch (error) {
      return failed(faultOf(error));
    }
  },

  async stream(question) {
    let whole: AIMessageChunk | undefined;
    try {
      for await (const chunk of await chatModel(question).stream(question.prompt)) {
        if (chunk.text !== '') question.onText?.(chunk.text);
        whole = whole === undefined ? chunk : whole.concat(chunk);
      }
    } catch (error) {
      return failed(faultOf(error), whole?.text);
    }
    if (whole === undefined) throw new Error('the stream was empty');
    return seenOf(whole);
  },
};
