/** The openai SDK. */
import OpenAI from 'openai';
import { type Client, type Fault, failed, filled, type Question, type Seen, TOOL } from './client';

function faultOf(error: unknown): Fault {
  const { status, message, type, code } = error as InstanceType<typeof OpenAI.APIError>;
  return { error, status, message, type, code };
}

function request(question: Question) {
  const { url, apiKey, maxRetries, model, prompt, tools, maxTokens, signal } = filled(question);
  const { name, description, schema } = TOOL;
  return {
    client: new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries }),
    body: {
      model,
      messages: [{ role: 'user' as const, content: prompt }],
      ...(maxTokens !== undefined && { max_tokens: maxTokens }),
      ...(tools && {
        tools: [{ type: 'function' as const, function: { name, description, parameters: schema } }],
      }),
    },
    options: { ...(signal && { signal }) },
  };
}

function seenOf({ choices, usage }: OpenAI.ChatCompletion): Seen {
  const [choice] = choices;
  const calls = choice?.message.tool_calls ?? [];
  return {
    text: choice?.message.content ?? '',
    toolCalls: calls.flatMap((call) =>
      call.type === 'function'
        ? [{ id: call.id, name: call.function.name, input: JSON.parse(call.function.arguments) as unknown }]
        : [],
    ),
    finish: choice?.finish_reason,
    usage: { input: usage?.prompt_tokens, output: usage?.completion_tokens },
    fault: null,
  };
}

export const openaiSdk: Client = {
  name: 'the openai SDK',

  async ask(question) {
    const { client, body, options } = request(question);
    try {
      return seenOf(await client.chat.completions.create(body, options));
    } catch (error) {
      return failed(faultOf(error));
    }
  },

  async stream(question) {
    const { client, body, options } = request(question);
    let text = '';
    try {
      const stream = client.chat.completions.stream(
        { ...body, stream_options: { include_usage: true } },
        options,
      );
      stream.on('content', (piece) => {
        text += piece;
        question.onText?.(piece);
      });
      return seenOf(await stream.finalChatCompletion());
    } catch (error) {
      return failed(faultOf(error), text);
    }
  },
};
