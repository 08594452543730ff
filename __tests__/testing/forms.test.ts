import { type Generation, type GenerationRequest, toJson, toStream } from '../../lib/testing/index';

type Json = Record<string, unknown>;

function frames(generation: Generation | Generation[], request: GenerationRequest): Json[] {
  return toStream(generation, request).map((text) => JSON.parse(text) as Json);
}

function chat(body: Json = {}): GenerationRequest {
  return { route: 'chat', requestId: 'r1', body: { model: 'm', messages: [], ...body } };
}

function completion(body: Json = {}): GenerationRequest {
  return { route: 'completions', requestId: 'r1', body: { model: 'm', prompt: 'one two', ...body } };
}

const CALLS = [
  { id: 'call_a', name: 'f', argumentPieces: ['{"x"', ':1}'] },
  { id: 'call_b', name: 'g', argumentPieces: ['{"y":2}'] },
];

describe('a chat stream', () => {
  it('has a role chunk, the deltas, a finish chunk', () => {
    const head = { id: 'chatcmpl-r1', object: 'chat.completion.chunk', created: 1_700_000_000, model: 'm' };
    const none = { logprobs: null, finish_reason: null };
    expect(frames({ reasoning: ['hm'], content: ['Hi'] }, chat())).toEqual([
      {
        ...head,
        choices: [{ index: 0, delta: { role: 'assistant', content: '' }, ...none }],
        prompt_token_ids: null,
      },
      { ...head, choices: [{ index: 0, delta: { reasoning: 'hm' }, ...none, token_ids: null }] },
      { ...head, choices: [{ index: 0, delta: { content: 'Hi' }, ...none, token_ids: null }] },
      {
        ...head,
        choices: [
          {
            index: 0,
            delta: { content: '' },
            logprobs: null,
            finish_reason: 'stop',
            stop_reason: null,
            token_ids: null,
          },
        ],
      },
    ]);
  });

  it('has a usage chunk without choices for a request that asked', () => {
    const asked = chat({
      messages: [{ role: 'user', content: 'a b' }],
      stream_options: { include_usage: true },
    });
    const last = frames({ content: ['a', 'b'], usage: { extra: 1 } }, asked).at(-1);
    expect(last).toMatchObject({ choices: [] });
    expect(last?.['usage']).toEqual({ prompt_tokens: 3, completion_tokens: 2, total_tokens: 5, extra: 1 });
    expect(frames({ content: ['a'] }, chat()).some((frame) => 'usage' in frame)).toBe(false);
  });

  it('has usage on every chunk with continuous_usage_stats', () => {
    const options = { include_usage: true, continuous_usage_stats: true };
    const seen = frames({ content: ['a', 'b'] }, chat({ stream_options: options }));
    const counts = seen.map((frame) => (frame['usage'] as Json)['completion_tokens']);
    expect(counts).toEqual([0, 1, 2, 2, 2]);
  });

  it('sends the pieces of tool calls one call after another, or in turns', () => {
    const pieces = (interleaveToolCalls: boolean): unknown[] =>
      frames({ toolCalls: CALLS, interleaveToolCalls }, chat())
        .slice(1, -1)
        .map((frame) => (frame as { choices: [{ delta: { tool_calls: [{ index: number }] } }] }).choices[0])
        .map((choice) => choice.delta.tool_calls[0].index);
    expect(pieces(false)).toEqual([0, 0, 0, 1, 1]);
    expect(pieces(true)).toEqual([0, 1, 0, 1, 0]);
  });

  it('puts members that are given together in one delta', () => {
    const generation: Generation = {
      parts: [{ reasoning: 'r', content: 'c' }],
      reasoningField: 'reasoning_content',
    };
    expect(frames(generation, chat())[1]).toMatchObject({
      choices: [{ delta: { reasoning_content: 'r', content: 'c' } }],
    });
    expect(toJson(generation, chat())).toMatchObject({
      choices: [{ message: { reasoning_content: 'r', content: 'c' } }],
    });
  });

  it('carries token ids for a request that asked', () => {
    const asked = chat({ messages: [{ role: 'user', content: 'a' }], return_token_ids: true });
    const seen = frames({ parts: [{ content: 'x', tokenIds: [7, 8] }] }, asked);
    expect(seen[0]?.['prompt_token_ids']).toHaveLength(2);
    expect(seen[1]).toMatchObject({ choices: [{ token_ids: [7, 8] }] });
    expect(toJson({ parts: [{ content: 'x', tokenIds: [7, 8] }] }, asked)).toMatchObject({
      choices: [{ token_ids: [7, 8] }],
      usage: { completion_tokens: 2 },
    });
  });
});

describe('a whole chat answer', () => {
  it.each<[string, Generation, Json]>([
    ['content', { content: ['a', 'b'] }, { content: 'ab', reasoning: null, tool_calls: [] }],
    ['nothing', {}, { content: '' }],
    ['reasoning only', { reasoning: ['x', 'y'] }, { content: null, reasoning: 'xy' }],
    ['a refusal only', { refusal: ['No', '.'] }, { content: null, refusal: 'No.' }],
    [
      'tool calls only',
      { toolCalls: CALLS, interleaveToolCalls: true },
      {
        content: null,
        tool_calls: [
          { id: 'call_a', type: 'function', function: { name: 'f', arguments: '{"x":1}' } },
          { id: 'call_b', type: 'function', function: { name: 'g', arguments: '{"y":2}' } },
        ],
      },
    ],
    [
      'a legacy call',
      { parts: [{ functionCall: { name: 'f' } }, { functionCall: { arguments: '{}' } }] },
      { content: null, function_call: { name: 'f', arguments: '{}' } },
    ],
  ])('with %s', (_name, generation, message) => {
    expect(toJson(generation, chat())).toMatchObject({
      id: 'chatcmpl-r1',
      object: 'chat.completion',
      choices: [{ index: 0, message: { role: 'assistant', ...message } }],
      kv_transfer_params: null,
    });
  });

  it('derives the finish reason, or takes what is given', () => {
    const reason = (generation: Generation): unknown =>
      (toJson(generation, chat()) as { choices: [{ finish_reason: string }] }).choices[0].finish_reason;
    expect(reason({ content: ['a'] })).toBe('stop');
    expect(reason({ toolCalls: CALLS })).toBe('tool_calls');
    expect(reason({ content: ['a'], finishReason: 'length' })).toBe('length');
  });
});

describe('log probabilities', () => {
  it('are the same in pieces and as a whole (chat)', () => {
    const request = chat({ logprobs: true, top_logprobs: 2 });
    const generation = { content: ['é', ' b'] };
    const pieces = frames(generation, request)
      .flatMap(
        (frame) => frame['choices'] as { logprobs: { content: { top_logprobs: unknown[] }[] } | null }[],
      )
      .flatMap((choice) => choice.logprobs?.content ?? []);
    expect(pieces).toHaveLength(2);
    expect(pieces[0]).toMatchObject({ token: 'é', bytes: [0xc3, 0xa9] });
    expect(pieces[0]?.top_logprobs).toHaveLength(2);
    expect(toJson(generation, request)).toMatchObject({ choices: [{ logprobs: { content: pieces } }] });
  });

  it('are the same in pieces and as a whole (completions)', () => {
    const request = completion({ logprobs: 0 });
    const generation = { content: ['ab', 'c', 'd'] };
    const pieces = frames(generation, request)
      .flatMap((frame) => frame['choices'] as { logprobs: Record<string, unknown[]> | null }[])
      .map((choice) => choice.logprobs ?? {});
    const join = (name: string): unknown[] => pieces.flatMap((piece) => piece[name] ?? []);
    expect(join('text_offset')).toEqual([0, 2, 3]);
    const names = ['text_offset', 'token_logprobs', 'tokens', 'top_logprobs'];
    const whole = Object.fromEntries(names.map((name) => [name, join(name)]));
    expect(toJson(generation, request)).toMatchObject({ choices: [{ logprobs: whole }] });
  });

  it('may be given, several tokens in one chunk', () => {
    const logprobs = [
      { token: 'a', logprob: -1 },
      { token: 'b', logprob: -2 },
    ];
    expect(toJson({ parts: [{ content: 'ab', logprobs }] }, completion({ logprobs: 1 }))).toMatchObject({
      choices: [{ logprobs: { tokens: ['a', 'b'], token_logprobs: [-1, -2], text_offset: [0, 1] } }],
    });
  });
});

describe('the completion route', () => {
  it('streams text', () => {
    const seen = frames({ content: ['a', 'b'], stopReason: 13 }, completion({ return_token_ids: true }));
    expect(seen.map((frame) => [frame['id'], frame['object']])[0]).toEqual(['cmpl-r1', 'text_completion']);
    const choices = seen.map((frame) => (frame['choices'] as Json[])[0]);
    expect(choices.map((choice) => choice?.['text'])).toEqual(['a', 'b', '']);
    expect(choices[0]?.['prompt_token_ids']).toHaveLength(2);
    expect(choices[2]).toMatchObject({ finish_reason: 'stop', stop_reason: 13 });
  });

  it('has one choice for each prompt', () => {
    const request = completion({ prompt: ['one', 'two three'], echo: true });
    const generations = [{ content: ['!'] }, { content: ['?'] }];
    const whole = toJson(generations, request) as { choices: Json[]; usage: Json };
    expect(whole.choices.map((choice) => [choice['index'], choice['text']])).toEqual([
      [0, 'one!'],
      [1, 'two three?'],
    ]);
    expect(whole.usage).toEqual({ prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 });
    const texts = ['', ''];
    for (const frame of frames(generations, request)) {
      const [choice] = frame['choices'] as { index: number; text: string }[];
      if (choice) texts[choice.index] += choice.text;
    }
    expect(texts).toEqual(['one!', 'two three?']);
  });

  it('gives prompt_logprobs', () => {
    const whole = toJson({ content: ['x'] }, completion({ prompt_logprobs: 1 }));
    const [choice] = whole['choices'] as { prompt_logprobs: unknown[] }[];
    expect(choice?.prompt_logprobs).toHaveLength(2);
    expect(choice?.prompt_logprobs[0]).toBeNull();
  });
});
