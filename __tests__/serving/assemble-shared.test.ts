/** What assemblers learn of one answer's events serves the next one, and changes nothing of it. */
import fc from 'fast-check';
import { Assembler } from '../../lib/serving/assembling/assembler';
import { EventShapes } from '../../lib/serving/assembling/event-shapes';
import { MergedAnswer } from '../../lib/serving/assembling/merged-answer';

/** What an assembler says after each event, and the answer; or the error. */
function outcome(events: readonly string[], shapes: EventShapes, maxBytes = 1 << 16): string {
  const seen: unknown[] = [];
  const made = new Assembler('chat', { maxBytes, shapes });
  try {
    for (const event of events) {
      made.add(event);
      seen.push([made.hasOutput, made.finishReason, made.usageCounts, made.usage]);
    }
    seen.push(made.finish());
  } catch (error) {
    seen.push(String(error));
  }
  return JSON.stringify(seen);
}

/** The answer to events that come in one chunk, read as a stream is; or the error. */
function answerToChunk(events: readonly string[], shapes: EventShapes): string {
  const chunk = events.map((event) => `data: ${Buffer.from(event).toString('latin1')}\n\n`).join('');
  const made = new Assembler('chat', { maxBytes: 1 << 16, shapes });
  try {
    for (let at = 0; at < chunk.length; ) {
      const end = made.takeRun(chunk, at);
      const next = chunk.indexOf('\n\n', at);
      if (end === at) made.addRaw(chunk.slice(at + 'data: '.length, next));
      at = end === at ? next + 2 : end;
    }
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
  const chunks = answers.map((events) => answerToChunk(events, new EventShapes()));
  expect(answers.map((events) => answerToChunk(events, shared))).toEqual(chunks);
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

describe('the head of an event', () => {
  const CHOICES = '"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}]';
  const parsed = (text: string) => JSON.parse(text) as Record<string, unknown>;

  test.each([
    ['no comma before choices', `{"id":"a"${CHOICES}}`],
    ['a comma and no member', `{,${CHOICES}}`],
    ['a comma behind a blank', `{ ,${CHOICES}}`],
    ['two commas', `{"id":"a",,${CHOICES}}`],
    ['no comma behind a number', `{"created":17${CHOICES}}`],
  ])('is no JSON with %s', (_what, event) => {
    for (const template of [true, false]) {
      const made = new Assembler('chat', { maxBytes: 1000, template });
      expect(() => made.add(event)).toThrow('not valid JSON');
    }
  });

  test.each([
    ['of none', '{"id":"B","created":2,"model":"m2"}'],
    ['as a value', '{"id":"choices","created":2,"model":"choices"}'],
    ['in another member', `{"id":"B","q":{"choices":[]},"model":"m2",${CHOICES}}`],
    ['spelled with an escape', '{"id":"B","created":2,"\\u0063hoices":[]}'],
  ])('counts again behind an event with choices %s', (_what, between) => {
    const event = `{"id":"A","created":1,"model":"m",${CHOICES}}`;
    const made = new Assembler('chat', { maxBytes: 1000 });
    for (const one of [event, between, event]) made.add(one);
    expect(parsed(made.finish())).toMatchObject({ id: 'A', created: 1, model: 'm' });
  });
});

describe('an answer like an earlier one', () => {
  const USAGE = '"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}';
  const choice = (delta: string, finish = 'null') =>
    `"choices":[{"index":0,"delta":${delta},"logprobs":null,"finish_reason":${finish}}]`;
  const events = (id: string, created: number, ...bodies: readonly string[]) =>
    bodies.map(
      (body) => `{"id":"${id}","object":"chat.completion.chunk","created":${created},"model":"m",${body}}`,
    );
  const usual = (id: string, created: number, ...texts: readonly string[]) =>
    events(
      id,
      created,
      choice('{"role":"assistant","content":""}'),
      ...texts.map((text) => choice(`{"content":${JSON.stringify(text)}}`)),
      choice('{}', '"stop"'),
      USAGE,
    );
  /** Shapes that have seen usual answers, and how many events are merged for the answers that follow. */
  const taught = () => {
    const shapes = new EventShapes();
    for (const at of [1, 2, 3]) outcome(usual(`a${at}`, 1_700_000_000 + at, 'x', 'y'), shapes);
    return { shapes, merge: jest.spyOn(MergedAnswer.prototype, 'merge') };
  };
  afterEach(() => jest.restoreAllMocks());

  it('is put together without merging any of its events', () => {
    const { shapes, merge } = taught();
    const mine = usual('another-id', 1_800_000_000, 'Hello', ' "w\u00f6rld"', '', '\n');
    const told = outcome(mine, shapes);
    expect(merge).not.toHaveBeenCalled();
    expect(told).toBe(outcome(mine, new EventShapes()));
    expect(told).toContain('another-id');
  });

  it('is one of completions as well', () => {
    const shapes = new EventShapes();
    const answerTo = (id: string, texts: readonly string[], known: EventShapes) => {
      const made = new Assembler('completion', { maxBytes: 1000, shapes: known });
      const bodies = texts.map((one) => `[{"index":0,"text":"${one}","finish_reason":null}]`);
      for (const choices of [...bodies, '[{"index":0,"text":"","finish_reason":"length"}]']) {
        made.add(`{"id":"${id}","object":"text_completion","created":1,"model":"m","choices":${choices}}`);
      }
      return made.finish();
    };
    for (const id of ['a', 'b', 'c']) answerTo(id, ['x'], shapes);
    const merge = jest.spyOn(MergedAnswer.prototype, 'merge');
    const told = answerTo('another', ['y', ' z'], shapes);
    expect(merge).not.toHaveBeenCalled();
    expect(told).toBe(answerTo('another', ['y', ' z'], new EventShapes()));
    expect(JSON.parse(told)).toMatchObject({
      id: 'another',
      choices: [{ text: 'y z', finish_reason: 'length' }],
    });
  });

  it.each([
    ['without a usage', usual('b', 1_800_000_000, 'x').slice(0, -1)],
    ['cut behind its text', usual('b', 1_800_000_000, 'x', 'y').slice(0, -2)],
    ['with no text', usual('b', 1_800_000_000)],
    ['with an empty text', usual('b', 1_800_000_000, '')],
    ['with text behind its end', [...usual('b', 1_800_000_000, 'x'), ...usual('b', 1_800_000_000, 'y', 'z')]],
    [
      'with two ends',
      [...usual('b', 1_800_000_000, 'x'), ...events('b', 1_800_000_000, choice('{}', '"stop"'))],
    ],
    [
      'with another end',
      [
        ...usual('b', 1_800_000_000, 'x', 'y').slice(0, 3),
        ...events('b', 1_800_000_000, choice('{}', '"length"')),
      ],
    ],
    [
      'with an error in it',
      [
        ...usual('b', 1_800_000_000, 'x').slice(0, 2),
        ...events('b', 1_800_000_000, '"choices":[],"error":{"m":1}'),
      ],
    ],
    [
      'with another id in mid-stream',
      [...usual('b', 1_800_000_000, 'x').slice(0, 2), ...usual('c', 1_800_000_000, 'y').slice(2)],
    ],
    [
      'with more beside the usage',
      [...usual('b', 1_800_000_000, 'x').slice(0, -1), ...events('b', 1_800_000_000, `${USAGE},"note":"n"`)],
    ],
    [
      'with a broken usage',
      [
        ...usual('b', 1_800_000_000, 'x').slice(0, -1),
        ...events('b', 1_800_000_000, '"choices":[],"usage":{a}'),
      ],
    ],
    [
      'with a usage twice',
      [...usual('b', 1_800_000_000, 'x'), ...events('b', 1_800_000_000, USAGE.replace('3', '4'))],
    ],
    [
      'with a usage in each event',
      usual('b', 1_800_000_000, 'x').map((one) => one.replace('"m"', '"m","usage":{"n":1}')),
    ],
    [
      'with a finish reason beyond ASCII',
      [
        ...usual('b', 1_800_000_000, 'x').slice(0, 2),
        ...events('b', 1_800_000_000, choice('{}', '"\u00e9nde"')),
      ],
    ],
    [
      'with a usage in its head, spelled with an escape',
      usual('b', 1_800_000_000, 'x').map((one) => one.replace('"m"', () => '"m","\\u0075sage":{"n":1}')),
    ],
    [
      'with a usage that is long',
      usual('b', 1_800_000_000, 'x').map((one) =>
        one.replace('{"prompt', `{"a":"${'y'.repeat(9000)}","prompt`),
      ),
    ],
    ['with a comma too few', usual('b', 1_800_000_000, 'x').map((one) => one.replace('"m",', '"m" '))],
    ['of another model', usual('b', 1_800_000_000, 'x').map((one) => one.replace('"m"', '"n"'))],
    ['with a time that is no number', usual('b', 0, 'x').map((one) => one.replace(':0,', ':0x1,'))],
    [
      'with a longer list of ends',
      [...usual('b', 1_800_000_000, 'x'), ...Array(40).fill(usual('b', 1_800_000_000)[1]!)],
    ],
  ])('may be another one yet: %s', (_what, mine) => {
    const { shapes } = taught();
    // Three times: the first two may teach what the third then follows.
    for (let time = 0; time < 3; time++) {
      expect(outcome(mine, shapes)).toBe(outcome(mine, new EventShapes()));
      expect(answerToChunk(mine, shapes)).toBe(answerToChunk(mine, new EventShapes()));
    }
  });

  it('stays known, whatever else the engine answers meanwhile', () => {
    const { shapes } = taught();
    const call = (n: number) =>
      events(
        'c',
        1_800_000_000,
        choice(`{"tool_calls":[{"index":0,"id":"call-${n}","function":{"name":"f","arguments":"{"}}]}`),
        choice('{"tool_calls":[{"index":0,"function":{"arguments":"}"}}]}'),
        choice('{}', '"tool_calls"'),
      );
    const merge = jest.spyOn(MergedAnswer.prototype, 'merge');
    for (let n = 0; n < 200; n++) {
      for (const more of [0, 1, 2]) outcome(call(3 * n + more), shapes);
      merge.mockClear();
      outcome(usual(`d${n}`, 1_800_000_000, 'x', 'y'), shapes);
      expect(merge).not.toHaveBeenCalled();
    }
  });

  it('is bounded as any other is', () => {
    const { shapes } = taught();
    const mine = usual('b', 1_800_000_000, 'x'.repeat(100), 'y'.repeat(100));
    const { length } = (JSON.parse(outcome(mine, new EventShapes())) as string[]).at(-1)!;
    for (const most of [10, 150, length - 1]) expect(outcome(mine, shapes, most)).toContain('larger than');
    expect(outcome(mine, shapes, length)).toBe(outcome(mine, new EventShapes(), length));
    const other = [...mine.slice(0, 3), ...events('b', 1_800_000_000, choice('{"reasoning":"z"}'))];
    const last = (told: string) => (JSON.parse(told) as unknown[]).at(-1);
    for (const most of [50, 150, 250, 1000]) {
      // A draft counts its text alone, so that the limit may be seen an event later.
      expect(last(outcome(other, shapes, most))).toEqual(last(outcome(other, new EventShapes(), most)));
    }
  });

  it('is no longer learned from where nothing ever comes again', () => {
    const shapes = new EventShapes();
    const merge = jest.spyOn(MergedAnswer.prototype, 'merge');
    const other = (n: number) => usual('b', 1_800_000_000, 'x').map((one) => one.replace('"m"', `"m${n}"`));
    for (let n = 0; n < 200; n++) outcome(other(n), shapes);
    // Four events of an answer, and eight more for each of 32 that were learned.
    expect(merge.mock.calls.length).toBeLessThanOrEqual(200 * 4 + 32 * 8);
    // An answer that does come again is found out about all the same.
    for (let n = 0; n < 1000; n++) outcome(other(0), shapes);
    merge.mockClear();
    outcome(other(0), shapes);
    expect(merge).not.toHaveBeenCalled();
  });

  test('any answers of any events, one after another', () => {
    const text = fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom('a', 'bc', '"', '\\', '\u00e9', '') },
      fc.string({ unit: 'binary', maxLength: 4 }),
    );
    const content = text.map((value) => choice(`{"content":${JSON.stringify(value)}}`));
    const body = fc.oneof(
      { weight: 6, arbitrary: content },
      { weight: 2, arbitrary: fc.constantFrom(choice('{"role":"assistant","content":""}'), choice('{}')) },
      {
        weight: 2,
        arbitrary: fc.constantFrom(choice('{}', '"stop"'), choice('{"content":"z"}', '"length"')),
      },
      {
        weight: 2,
        arbitrary: fc.constantFrom(USAGE, '"choices":[], "usage": {"n":1}', '"choices":[],"usage":null'),
      },
      {
        weight: 1,
        arbitrary: fc.constantFrom(choice('{"role":"user"}'), choice('{"reasoning":"r"}'), '"choices":[]'),
      },
    );
    const id = fc.constantFrom('a1', 'b2', 'c33');
    const created = fc.constantFrom(1, 1_700_000_000, 1_700_000_001);
    const answers = fc.array(
      fc
        .tuple(id, created, fc.array(body, { maxLength: 6 }))
        .map(([one, at, bodies]) => events(one, at, choice('{"role":"assistant","content":""}'), ...bodies)),
      { minLength: 2, maxLength: 8 },
    );
    fc.assert(fc.property(answers, expectSame), { numRuns: 1500 });
  });
});
