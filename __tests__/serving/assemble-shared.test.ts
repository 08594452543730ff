/** What assemblers learn of one answer's events serves the next one, and changes nothing of it. */
import fc from 'fast-check';
import { Assembler } from '../../lib/serving/assembling/assembler';
import { EventShapes } from '../../lib/serving/assembling/merge';

/** The answer, or the error. */
function outcome(events: readonly string[], shapes: EventShapes): string {
  try {
    const made = new Assembler('chat', { maxBytes: 1 << 16, shapes });
    for (const event of events) made.add(event);
    return JSON.stringify([made.finish(), made.hasOutput, made.finishReason, made.usage]);
  } catch (error) {
    return String(error);
  }
}

/** Every answer, with assemblers that know nothing and with those that share what they know. */
function expectSame(answers: readonly (readonly string[])[]): void {
  const shared = new EventShapes();
  const alone = answers.map((events) => outcome(events, new EventShapes()));
  // Twice: what is first seen in the last answer is known to all of the second round.
  expect(answers.map((events) => outcome(events, shared))).toEqual(alone);
  expect(answers.map((events) => outcome(events, shared))).toEqual(alone);
}

const answer = (...heads: readonly string[]) =>
  heads.map(
    (head, at) => `{${head},"choices":[{"index":0,"delta":{"content":"${at}"},"finish_reason":"stop"}]}`,
  );

const REST = '"object":"chat.completion.chunk","created":1,"model":"m"';

describe('an id that differs', () => {
  test.each([
    ['in nothing else', `"id":"a1",${REST}`, `"id":"b2",${REST}`],
    ['in its length', `"id":"a1",${REST}`, `"id":"b22",${REST}`],
    ['by an escape', `"id":"abcdef",${REST}`, `"id":"\\u0041",${REST}`],
    ['by being broken', `"id":"abc",${REST}`, `"id":"a\\c",${REST}`],
    ['by being another kind', `"id":"a1",${REST}`, `"id":1234,${REST}`],
    ['by ending early', `"id":"a","usage":{"n":1}","x":"b",${REST}`, `"id":"a1",${REST}`],
    ['with members inside', `"id":"abcdefghijklm",${REST}`, `"id":"a","error":"b",${REST}`],
    ['with usage inside', `"id":"abcdefghijklmnopq",${REST}`, `"id":"a","usage":{},"x":"",${REST}`],
    ['and stands last', `${REST},"id":"a1"`, `${REST},"id":"b2"`],
    ['and comes twice', `"id":"a1","id":"b2",${REST}`, `"id":"a1","id":"c3",${REST}`],
    ['and is followed by blanks', `"id":"a1",${REST} , `, `"id":"b2",${REST} , `],
  ])('%s', (_what, one, other) => {
    expectSame([answer(one), answer(other), answer(one, one), answer(one, other)]);
  });
});

test('an error frame is one, whatever was known before', () => {
  const flat = '"id":"a1","object":"error","message":"m"';
  expectSame([answer(`"id":"a1",${REST}`), answer(flat), answer(flat.replace('a1', 'b2'))]);
  const nested = `"id":"a1",${REST},"error":{"message":"m"}`;
  expectSame([answer(nested), answer(nested.replace('a1', 'b2'))]);
});

test('each answer keeps the usage of its own head', () => {
  const head = (id: string, n: number) => `"id":"${id}",${REST},"usage":{"completion_tokens":${n}}`;
  expectSame([answer(head('a', 1)), answer(head('b', 2)), answer(head('c', 1))]);
});

test('any answers after any others', () => {
  const id = fc.constantFrom(
    '"a1"',
    '"b2"',
    '"c33"',
    '"\\u00e9"',
    '"\\"x"',
    '7',
    'null',
    '"a\\"',
    '"a1","x":"y"',
  );
  const rest = fc.constantFrom(
    REST,
    '"object":"error","message":"m"',
    `${REST},"usage":{"n":1}`,
    `${REST},"error":null`,
    '"created":12,"model":"\\u006d"',
    '"model":"m","model":"n"',
  );
  const head = fc
    .tuple(id, rest, fc.boolean())
    .map(([value, members, first]) => (first ? `"id":${value},${members}` : `${members},"id":${value}`));
  const choice = fc.constantFrom(
    '{"index":0,"delta":{"role":"assistant","content":""}}',
    '{"index":0,"delta":{"content":"x"}}',
    '{"index":0,"delta":{"content":"yz"}}',
    '{"index":0,"delta":{},"finish_reason":"stop"}',
    '{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"a"}}]}}',
    '{"index":1,"delta":{}}',
  );
  const tail = fc.constantFrom('', ',"usage":null', ',"usage":{"completion_tokens":3}', ',"note":"n"');
  const event = fc
    .tuple(head, fc.array(choice, { maxLength: 2 }), tail)
    .map(([members, choices, end]) => `{${members},"choices":[${choices.join(',')}]${end}}`);
  fc.assert(fc.property(fc.array(fc.array(event, { maxLength: 5 }), { maxLength: 4 }), expectSame), {
    numRuns: 2000,
  });
});
