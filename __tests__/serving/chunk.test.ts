import { inspectChunk } from '../../lib/serving/chunk';

const chat = (choice: unknown) => inspectChunk({ choices: [choice] }, 'chat');
const completion = (choice: unknown) => inspectChunk({ choices: [choice] }, 'completion');

describe('output of a chat chunk', () => {
  test.each([
    ['content', { delta: { content: 'a' } }],
    ['reasoning', { delta: { reasoning: 'a' } }],
    ['reasoning under its older name', { delta: { reasoning_content: 'a' } }],
    ['a refusal', { delta: { refusal: 'no' } }],
    ['a tool call', { delta: { tool_calls: [{ index: 0 }] } }],
    ['a function call', { delta: { function_call: { name: 'f' } } }],
    ['a field nobody knows', { delta: { mood: 0 } }],
    ['a finish reason', { delta: {}, finish_reason: 'stop' }],
    ['token ids', { delta: {}, token_ids: [5] }],
    ['log probabilities', { delta: {}, logprobs: { content: [{ token: 'a' }] } }],
    ['log probabilities of a refusal', { logprobs: { content: null, refusal: [{ token: 'a' }] } }],
  ])('is %s', (_, choice) => {
    expect(chat(choice).output).toBe(true);
  });

  test.each([
    ['a role with empty content', { delta: { role: 'assistant', content: '' }, finish_reason: null }],
    ['a role alone', { delta: { role: 'assistant' } }],
    ['nulls', { delta: { content: null, tool_calls: null }, logprobs: null, token_ids: null }],
    [
      'empty values',
      {
        delta: { reasoning: '', tool_calls: [], function_call: {} },
        token_ids: [],
        logprobs: { content: [] },
      },
    ],
    ['no delta', {}],
    ['a delta that is no object', { delta: 'a' }],
    ['the text of the other route', { text: 'a' }],
    ['a choice that is no object', 'a'],
  ])('is not %s', (_, choice) => {
    expect(chat(choice).output).toBe(false);
  });

  test('may be in any of the choices', () => {
    expect(inspectChunk({ choices: [{ delta: {} }, { delta: { content: 'a' } }] }, 'chat').output).toBe(true);
  });
});

describe('output of a completion chunk', () => {
  test('is text, token ids, log probabilities or a finish reason', () => {
    expect(completion({ text: 'a' }).output).toBe(true);
    expect(completion({ text: '', token_ids: [1] }).output).toBe(true);
    expect(completion({ text: '', logprobs: { tokens: ['a'] } }).output).toBe(true);
    expect(completion({ text: '', finish_reason: 'length' }).output).toBe(true);
  });

  test('is not empty text, prompt token ids or a delta', () => {
    expect(completion({ text: '', prompt_token_ids: [1], logprobs: { tokens: [] } }).output).toBe(false);
    expect(completion({ delta: { content: 'a' } }).output).toBe(false);
  });
});

test('the finish reason is the first that is a string', () => {
  const choices = [
    { finish_reason: null },
    { finish_reason: 3 },
    { finish_reason: 'stop' },
    { finish_reason: 'length' },
  ];
  expect(inspectChunk({ choices }, 'chat').finishReason).toBe('stop');
  expect(chat({ finish_reason: null }).finishReason).toBeNull();
});

describe('usage', () => {
  const usage = { prompt_tokens: 3 };

  test('is found on a frame of its own', () => {
    const facts = inspectChunk({ choices: [], usage }, 'chat');
    expect(facts).toEqual({ output: false, finishReason: null, usage, error: null, usageOnly: true });
  });

  test('is found beside a choice, which is no usage frame', () => {
    const facts = inspectChunk({ choices: [{ delta: { content: 'a' } }], usage }, 'chat');
    expect(facts).toMatchObject({ usage, usageOnly: false, output: true });
  });

  test.each([null, undefined, 7, 'x', [1]])('is not %p', (value) => {
    expect(inspectChunk({ choices: [], usage: value }, 'chat')).toMatchObject({
      usage: null,
      usageOnly: false,
    });
  });

  test('without choices is no usage frame', () => {
    expect(inspectChunk({ usage }, 'chat')).toMatchObject({ usage, usageOnly: false });
  });
});

describe('an error', () => {
  test.each([
    ['nested', { error: { message: 'm', code: 500 } }, { message: 'm', code: 500 }],
    ['a text', { error: 'gone' }, 'gone'],
    ['neither object nor text', { error: 503 }, '503'],
    ['flat', { object: 'error', message: 'm' }, { object: 'error', message: 'm' }],
  ])('is found when it is %s', (_, chunk, error) => {
    expect(inspectChunk(chunk, 'chat').error).toEqual(error);
  });

  test.each([{ error: null }, { error: '' }, { object: 'error' }, { object: 'chunk', message: 'm' }])(
    'is not in %j',
    (chunk) => {
      expect(inspectChunk(chunk, 'chat').error).toBeNull();
    },
  );
});

test.each([null, undefined, 3, 'x', true, [{ choices: [] }], { choices: null }, { choices: {} }])(
  'what is no chunk (%j) has no facts',
  (value) => {
    const nothing = { output: false, finishReason: null, usage: null, error: null, usageOnly: false };
    expect(inspectChunk(value, 'chat')).toEqual(nothing);
  },
);
