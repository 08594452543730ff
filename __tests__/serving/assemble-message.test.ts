import { AssemblyError } from '../../lib/serving/assembling/assembler';
import { assemble, chat, message, ROLE } from './assemble-helpers';

const call = (index: number, fields: object) => chat({ tool_calls: [{ index, ...fields }] });

describe('content', () => {
  test.each([
    ['reasoning', chat({ reasoning: 'hm' })],
    ['reasoning under its older name', chat({ reasoning_content: 'hm' })],
    ['a refusal', chat({ refusal: 'no' })],
    ['tool calls', call(0, { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } })],
    ['a function call', chat({ function_call: { name: 'f' } })],
  ])('is null when there was only %s', (_, event) => {
    expect(message(ROLE, event)['content']).toBeNull();
    expect(message(chat({ role: 'assistant' }), event)['content']).toBeNull();
    expect(message(chat({ role: 'assistant', content: null }), event)['content']).toBeNull();
    expect(message(ROLE, event, chat({ content: 'c' }))['content']).toBe('c');
  });

  test('is empty when the engine sent only empty content', () => {
    expect(message(ROLE, chat({ content: '' }), chat({}))).toEqual({ role: 'assistant', content: '' });
    expect(message(ROLE, chat({ tool_calls: [], reasoning: '' }))['content']).toBe('');
  });

  test('is null when the engine sent none at all', () => {
    expect(message(chat({ role: 'assistant' }))).toEqual({ role: 'assistant', content: null });
  });

  test('and reasoning of one delta are kept apart, each in order', () => {
    expect(
      message(
        chat({ reasoning_content: 'r1', content: 'c1' }),
        chat({ reasoning_content: 'r2', content: 'c2' }),
        chat({ reasoning: 'n1' }),
        chat({ reasoning: 'n2', content: 'c3' }),
      ),
    ).toEqual({ role: 'assistant', content: 'c1c2c3', reasoning_content: 'r1r2', reasoning: 'n1n2' });
  });

  test('may start as null and go on as text', () => {
    const nothing = { content: null, refusal: null, tool_calls: null, function_call: null };
    expect(message(chat(nothing), chat({ content: 'a' }), chat(nothing), chat({ content: 'b' }))).toEqual({
      role: 'assistant',
      content: 'ab',
      refusal: null,
      tool_calls: null,
      function_call: null,
    });
  });
});

describe('the role', () => {
  test('stays one when each delta repeats it', () => {
    expect(message(...['a', 'b', 'c'].map((content) => chat({ role: 'assistant', content })))).toEqual({
      role: 'assistant',
      content: 'abc',
    });
  });

  test('is assistant when the engine sent none, an empty one or null', () => {
    for (const role of [undefined, '', null]) {
      expect(message(chat({ role, content: 'a' }))).toEqual({ role: 'assistant', content: 'a' });
    }
    expect(message(chat({ role: '' }), ROLE, chat({ role: '' }))['role']).toBe('assistant');
  });

  test('may be spelled with escapes', () => {
    expect(message(ROLE, ROLE.replace('assistant', '\\u0061ssistant'))['role']).toBe('assistant');
  });
});

describe('tool calls', () => {
  test('fragments without id find their call by index, and calls come out in its order', () => {
    const { tool_calls } = message(
      ROLE,
      call(1, { id: 'call_b', type: 'function', function: { name: 'clock', arguments: '' } }),
      call(0, { id: 'call_a', type: 'function', function: { name: 'weather', arguments: '' } }),
      call(1, { function: { arguments: '{"zone":' } }),
      call(0, { function: { arguments: '{"city":' } }),
      call(1, { function: { arguments: '"UTC"}' } }),
      call(0, { function: { arguments: '"Oslo"}' } }),
    );
    expect(tool_calls).toEqual([
      { id: 'call_a', type: 'function', function: { name: 'weather', arguments: '{"city":"Oslo"}' } },
      { id: 'call_b', type: 'function', function: { name: 'clock', arguments: '{"zone":"UTC"}' } },
    ]);
  });

  test('come in order of the number, also above nine', () => {
    const indexes = [10, 9, 2, 0];
    const { tool_calls } = message(...indexes.map((index) => call(index, { id: `c${index}` })));
    expect(tool_calls).toEqual([{ id: 'c0' }, { id: 'c2' }, { id: 'c9' }, { id: 'c10' }]);
  });

  test('several fragments of one delta are merged in their order', () => {
    const both = (a: string, b: string) =>
      chat({
        tool_calls: [
          { index: 0, function: { arguments: a } },
          { index: 1, function: { arguments: b } },
          { index: 0, function: { arguments: '.' } },
        ],
      });
    const calls = message(both('a', 'b'), both('c', 'd'))['tool_calls'] as { function: unknown }[];
    expect(calls.map((one) => one.function)).toEqual([{ arguments: 'a.c.' }, { arguments: 'bd' }]);
  });

  test('an id and a type that every fragment repeats stay one, names and arguments are joined', () => {
    const repeated = (name: string, args: string) =>
      call(0, { id: 'call_9', type: 'function', label: 'x', function: { name, arguments: args } });
    expect(message(repeated('get_', '{'), repeated('time', ''), repeated('', '}'))['tool_calls']).toEqual([
      { id: 'call_9', type: 'function', label: 'x', function: { name: 'get_time', arguments: '{}' } },
    ]);
  });

  test('an id that is null or empty on later fragments stays', () => {
    const later = (id: unknown) => call(0, { id, type: null, function: { name: null, arguments: '1' } });
    const first = call(0, { id: 'call_9', type: 'function', function: { name: 'f', arguments: '' } });
    expect(message(first, later(null), later(''))['tool_calls']).toEqual([
      { id: 'call_9', type: 'function', function: { name: 'f', arguments: '11' } },
    ]);
    expect(message(later(''), later(null), first)['tool_calls']).toEqual([
      { id: 'call_9', type: 'function', function: { name: 'f', arguments: '11' } },
    ]);
  });

  test('another id or type for the same index is an error', () => {
    expect(() => message(call(0, { id: 'a' }), call(0, { id: 'b' }))).toThrow(AssemblyError);
    expect(() => message(call(0, { type: 'function' }), call(0, { type: 'custom' }))).toThrow(AssemblyError);
    expect(() => message(call(0, { id: 1 }), call(0, { id: '1' }))).toThrow(AssemblyError);
  });

  test('arguments that were cut stay as they are', () => {
    const { choices } = assemble('chat', [
      ROLE,
      call(0, { id: 'c', type: 'function', function: { name: 'find', arguments: '{"town":"Ber' } }),
      chat({}, { finish_reason: 'length' }),
    ]);
    expect(choices[0]).toMatchObject({
      finish_reason: 'length',
      message: { tool_calls: [{ function: { name: 'find', arguments: '{"town":"Ber' } }] },
    });
  });

  test('a type that no fragment named is function, and arguments that never came are empty', () => {
    expect(message(call(3, { id: 'c', function: { name: 'f' } }))['tool_calls']).toEqual([
      { id: 'c', type: 'function', function: { name: 'f', arguments: '' } },
    ]);
    expect(
      message(call(3, { id: 'c', type: null, function: { name: 'f', arguments: null } }))['tool_calls'],
    ).toEqual([{ id: 'c', type: 'function', function: { name: 'f', arguments: '' } }]);
  });

  test('fields nobody knows are kept in the call and in its function', () => {
    const event = call(0, {
      id: 'c',
      extra: { a: [1] },
      flag: true,
      function: { name: 'f', arguments: '', strict: true },
    });
    expect(message(event)['tool_calls']).toEqual([
      {
        id: 'c',
        type: 'function',
        extra: { a: [1] },
        flag: true,
        function: { name: 'f', arguments: '', strict: true },
      },
    ]);
    expect(message(call(0, { notes: [1] }), call(0, { notes: [2] }))['tool_calls']).toEqual([
      { notes: [1, 2] },
    ]);
    expect(() => message(event, call(0, { extra: { a: [2] } }))).toThrow(AssemblyError);
    expect(() => message(call(0, { label: 'a' }), call(0, { label: 'b' }))).toThrow(AssemblyError);
  });

  test('a function of null and an empty list add nothing', () => {
    expect(message(call(0, { id: 'c', function: null }), chat({ tool_calls: [] }))['tool_calls']).toEqual([
      { id: 'c', function: null },
    ]);
    expect(message(chat({ content: 'a', tool_calls: [] }))['tool_calls']).toEqual([]);
  });
});

test('the older function call is joined from its fragments', () => {
  const part = (function_call: object) => chat({ function_call });
  expect(
    message(part({ name: 'f', arguments: '' }), part({ arguments: '{"a"' }), part({ arguments: ':1}' })),
  ).toEqual({
    role: 'assistant',
    content: null,
    function_call: { name: 'f', arguments: '{"a":1}' },
  });
});

describe('delta fields that nobody knows', () => {
  test('are joined when they are texts or lists', () => {
    const event = (thought: unknown, notes: unknown) => chat({ thought, notes });
    expect(message(event('a', [1]), event(null, []), event('', null), event('b', [2, 3]))).toMatchObject({
      thought: 'ab',
      notes: [1, 2, 3],
    });
  });

  test('stay one when they are anything else and do not change', () => {
    const event = chat({ score: 1.5, flag: false, audio: { id: 'x' } });
    expect(message(event, chat({ score: null }), event)).toMatchObject({
      score: 1.5,
      flag: false,
      audio: { id: 'x' },
    });
  });

  test.each([
    ['another number', 1, 2],
    ['another object', { a: 1 }, { a: 2 }],
    ['a text after a list', ['a'], 'a'],
    ['a list after a text', 'a', ['a']],
    ['a text after a number', 1, 'a'],
    ['a number after a text', 'a', 1],
    ['an object after a list', [1], { a: 1 }],
  ])('are an error when there is %s', (_, before, after) => {
    expect(() => message(chat({ field: before }), chat({ field: after }))).toThrow(AssemblyError);
  });
});
