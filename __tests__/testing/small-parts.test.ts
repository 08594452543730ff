/** Parts of the stub engines that answer a caller who does something odd. */
import { BreachLog } from '../../lib/testing/breach-log';
import { checkCount, checkKeys } from '../../lib/testing/check-options';
import { effectiveLimit, promptsOf } from '../../lib/testing/generation-request';
import { HandoffLedger } from '../../lib/testing/handoff-ledger';
import { withHandoff } from '../../lib/testing/handoff-text';
import { refuseLimits } from '../../lib/testing/refuse-limits';
import { refuseTools } from '../../lib/testing/refuse-tools';
import type { StubCall } from '../../lib/testing/stub-call';

describe('the log of breaches', () => {
  const call = { engine: 'd0', requestId: '' } as StubCall;

  it('names the engine, and says where a call had no id', () => {
    const log = new BreachLog([]);
    log.add('query', call, 'a query string');
    log.addFault(call, 'a text that was thrown');
    log.addFault({ ...call, requestId: 'r1' }, Object.assign(new Error('boom'), { stack: undefined }));
    expect(log.texts).toEqual([
      'query: a query string (engine d0, request without id)',
      'fault: a text that was thrown (engine d0, request without id)',
      'fault: boom (engine d0, request r1)',
    ]);
    log.clear();
    expect(log.texts).toEqual([]);
  });

  it('keeps faults also where every check is off', () => {
    const log = new BreachLog(['query']);
    log.add('query', call, 'a query string');
    log.addFault(call, 'thrown');
    expect(log.texts).toHaveLength(1);
  });
});

describe('the prompts of a body', () => {
  const texts = (body: object) => promptsOf(body as never).map(({ text }) => text);

  it.each([
    [
      {
        messages: [
          { role: 'user', content: 'a' },
          { role: 'system', content: 'b' },
        ],
      },
      ['user: a\nsystem: b'],
    ],
    [{ messages: [{ role: 'user', content: [{ text: 'a' }, { type: 'image' }, 'x'] }] }, ['user: a  ']],
    [{ messages: [{ role: 'assistant', content: null }] }, ['assistant: ']],
    [{ messages: ['none'] }, ['']],
    [{ prompt: 'a' }, ['a']],
    [{ prompt: ['a', 'b'] }, ['a', 'b']],
    [{ prompt: [1, 2] }, ['ids 1 2']],
    [{ prompt: [[1], [2, 3]] }, ['ids 1', 'ids 2 3']],
    [{}, ['']],
  ])('are read of every form: %j', (body, prompts) => {
    expect(texts(body)).toEqual(prompts);
  });

  it.each([
    ['chat', {}, undefined],
    ['chat', { max_tokens: 3 }, 3],
    ['chat', { max_tokens: 3, max_completion_tokens: 2 }, 2],
    ['completions', { max_completion_tokens: 2 }, 16],
    ['completions', { max_tokens: 0 }, 0],
    ['completions', { max_tokens: 0, echo: true }, 1],
  ] as const)('have on %s with %j the limit %s', (route, body, limit) => {
    expect(effectiveLimit(route, body)).toBe(limit);
  });
});

describe('the ledger of handoffs', () => {
  const entry = { iid: 'p0', engineId: 'e', requestId: 'r', path: '/', members: new Map<string, string>() };

  it.each([
    ['by its exact text', '{"remote_request_id":"a","n":1}', true],
    ['by its id, where the text was changed', '{"n":2,"remote_request_id":"a"}', true],
    ['under no other id', '{"remote_request_id":"b"}', false],
    ['under an id that is no text', '{"remote_request_id":5}', false],
    ['in a list', '["a"]', false],
    ['in what is no JSON', '{"remote_request_id":', false],
  ])('finds one %s', (_words, text, isFound) => {
    const ledger = new HandoffLedger();
    ledger.add({ ...entry, text: '{"remote_request_id":"a","n":1}' });
    expect(ledger.find(text) !== undefined).toBe(isFound);
  });

  it('finds of two with one text the one that nobody has used', () => {
    const ledger = new HandoffLedger();
    ledger.add({ ...entry, text: '{}', requestId: 'first' });
    ledger.add({ ...entry, text: '{}', requestId: 'second' });
    ledger.find('{}')!.uses = 1;
    expect(ledger.find('{}')?.requestId).toBe('second');
    ledger.find('{}')!.state = 'claimed';
    expect(ledger.find('{}')?.requestId).toBe('second');
  });
});

describe('a handoff in an answer', () => {
  it.each([
    [
      { choices: [{ index: 0 }, { index: 1 }] },
      '{"choices":[{"index":0,"kv_transfer_params":{"n":1.0}},{"index":1}]}',
    ],
    [{ choices: ['odd'] }, '{"choices":["odd"]}'],
    [{ id: 'a' }, '{"id":"a","choices":[]}'],
  ])('stands in the first choice of %j, as its text', (answer, text) => {
    expect(withHandoff(answer, '{"n":1.0}', true)).toBe(text);
  });
});

describe('what an engine refuses', () => {
  const tool = { type: 'function', function: { name: 'f' } };
  const named = { type: 'function', function: { name: 'f' } };

  it.each([
    ['auto', [tool], null],
    ['required', [tool], null],
    ['required', undefined, /`tools` must be set/],
    ['required', [], /`tools` must be set/],
    [named, 'none', /`tools` must be set/],
    [named, [tool], null],
    [named, [{ ...tool, function: { name: 'g' } }], /does not match any/],
    [named, ['odd'], /does not match any/],
  ])('of the tool choice %j with the tools %j', (tool_choice, tools, words) => {
    const refusal = refuseTools({ tool_choice, tools } as never);
    if (words === null) expect(refusal).toBeUndefined();
    else expect(JSON.stringify(refusal)).toMatch(words);
  });

  it.each([
    [{ prompt_logprobs: 1, stream: true }, /not available when `stream=True`/],
    [{ prompt_logprobs: -1, stream: true }, /not available when `stream=True`/],
    [{ prompt_logprobs: 0, stream: true }, null],
    [{ prompt_logprobs: 1 }, null],
    [{ n: 0 }, /n must be at least 1/],
    [{ n: 1.5 }, /n: Input should be a valid integer/],
    [{ max_tokens: 5, min_tokens: 6 }, /min_tokens must be less than/],
    [{ max_tokens: 0 }, /max_tokens must be at least 1/],
    [{ max_tokens: 100 }, /maximum context length is 100 tokens. However, you requested 102 tokens/],
  ])('of the numbers in %j', (body, words) => {
    const refusal = refuseLimits('chat', body, [{ text: 'a', tokenIds: [1, 2] }], 100);
    if (words === null) expect(refusal).toBeUndefined();
    else expect(JSON.stringify(refusal)).toMatch(words);
  });

  it('of a prompt that is too long by itself, also without a limit', () => {
    const long = [{ text: 'a', tokenIds: Array(100).fill(1) as number[] }];
    expect(JSON.stringify(refuseLimits('chat', {}, long, 100))).toMatch(/you requested 101 tokens/);
  });
});

describe('options of a stub fleet', () => {
  it('that are misspelt are named, with the nearest word only where one is near', () => {
    const check = (given: object) => () => checkKeys('script', given, ['status', 'body']);
    expect(check({ status: 1 })).not.toThrow();
    expect(check({ stattus: 1, zzz: 2 })).toThrow(
      'script: unknown stattus (did you mean status?), zzz; known are status, body',
    );
  });

  it.each([-1, 1.5, '1', null])('refuse %j as a count', (value) => {
    expect(() => checkCount('decode', value)).toThrow('decode must be a whole number from 0');
  });
});
