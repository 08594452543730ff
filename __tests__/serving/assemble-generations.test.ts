import {
  type Generation,
  type GenerationPart,
  type GenerationRequest,
  toJson,
  toStream,
} from 'express-narwhal/testing';
import fc from 'fast-check';
import { assembleText, type Json } from './assemble-helpers';
import { cutAt, readChunks } from './sse-reference';

/**
 * What an engine writes in a whole answer though a stream has no counterpart for it: members that do
 * not apply, as null or as an empty list. They are left out on both sides before comparing.
 */
const UNSTREAMED = ['tool_calls', 'annotations', 'audio', 'function_call', 'refusal', 'reasoning'];
const UNSTREAMED_TOO = ['reasoning_content', 'service_tier', 'system_fingerprint', 'kv_transfer_params'];
const UNSTREAMED_IDS = ['prompt_logprobs', 'prompt_token_ids', 'token_ids', 'stop_reason'];
const MAY_BE_MISSING = new Set([...UNSTREAMED, ...UNSTREAMED_TOO, ...UNSTREAMED_IDS]);

function withoutEmpty(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutEmpty);
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([key, member]) => {
    const isEmpty = member === null || (Array.isArray(member) && member.length === 0);
    return !(isEmpty && MAY_BE_MISSING.has(key));
  });
  return Object.fromEntries(kept.map(([key, member]) => [key, withoutEmpty(noTokens(key, member))]));
}

/** An answer without a chunk of its own shows nowhere in the stream that log probabilities were asked for. */
function noTokens(key: string, member: unknown): unknown {
  if (key !== 'logprobs' || typeof member !== 'object' || member === null) return member;
  return Object.values(member).flat().length === 0 ? null : member;
}

function expectTheEnginesAnswer(generation: Generation, request: GenerationRequest): void {
  const route = request.route === 'chat' ? 'chat' : 'completion';
  const events = toStream(generation, {
    ...request,
    body: {
      ...request.body,
      stream: true,
      stream_options: { include_usage: true, ...streamOptions(request) },
    },
  });
  const expected = withoutEmpty(JSON.parse(JSON.stringify(toJson(generation, request))));
  for (const template of [true, false]) {
    expect(withoutEmpty(JSON.parse(assembleText(route, events, template)))).toEqual(expected);
  }
}

function streamOptions({ body }: GenerationRequest): Json {
  return (body['stream_options'] as Json | undefined) ?? {};
}

const piece = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 6 }),
  fc.constantFrom('"', '\\', '\n', '\u2028', '{"a":1}', '\u{1f40b}'),
);
const pieces = fc.array(piece, { maxLength: 8 });
/** The prompt's token ids come with the first chunk: without one they cannot come at all. */
const firstPieces = fc.array(piece, { minLength: 1, maxLength: 8 });
const callPlan = fc.record({
  id: fc.uuid(),
  name: fc.string({ minLength: 1, maxLength: 5 }),
  argumentPieces: pieces,
});
const calls = fc.array(callPlan, { maxLength: 3 });
const endings = {
  stopReason: fc.constantFrom(undefined, null, 7, 'END'),
  systemFingerprint: fc.constantFrom(undefined, 'fp_1'),
  reasoningField: fc.constantFrom(undefined, 'reasoning' as const, 'reasoning_content' as const),
};
const plan = fc.record({
  reasoning: pieces,
  content: pieces,
  refusal: fc.oneof(fc.constant([]), pieces),
  toolCalls: calls,
  interleaveToolCalls: fc.boolean(),
  ...endings,
});
/** Deltas that carry several things at once, in any order. */
const mixedPart: fc.Arbitrary<GenerationPart> = fc.record(
  { content: piece, reasoning: piece, functionCall: fc.record({ name: piece, arguments: piece }) },
  { requiredKeys: [] },
);
const mixed = fc.record({ parts: fc.array(mixedPart, { maxLength: 12 }), ...endings });

const chatBody = fc.record({
  messages: fc.constant([{ role: 'user', content: 'tell me of whales' }]),
  logprobs: fc.boolean(),
  top_logprobs: fc.constantFrom(undefined, 0, 2),
  return_token_ids: fc.boolean(),
  stream_options: fc.constantFrom({}, { continuous_usage_stats: true }),
});
const completionBody = fc.record({
  prompt: fc.constantFrom<unknown>('tell me of whales', [5, 6, 7]),
  logprobs: fc.constantFrom(undefined, 0, 2),
  return_token_ids: fc.boolean(),
  stream_options: fc.constantFrom({}, { continuous_usage_stats: true }),
});

test('a streamed chat answer is assembled into the answer of the non-streaming route', () => {
  fc.assert(
    fc.property(fc.oneof(plan, mixed), chatBody, (generation, body) => {
      expectTheEnginesAnswer(generation, { route: 'chat', requestId: 'r-1', body });
    }),
    { numRuns: 200 },
  );
});

test('a streamed completion is assembled into the answer of the non-streaming route', () => {
  fc.assert(
    fc.property(firstPieces, completionBody, fc.record(endings), (content, body, ending) => {
      expectTheEnginesAnswer({ content, ...ending }, { route: 'completions', requestId: 'r-1', body });
    }),
    { numRuns: 200 },
  );
});

test('an answer survives any cut and any line ends on its way from the engine', () => {
  const places = fc.array(fc.nat(5000), { maxLength: 20 });
  const framings = fc.constantFrom(
    (json: string) => `data: ${json}\n\n`,
    (json: string) => `data:${json}\r\n\r\n`,
    (json: string) => `: warming up\r\rid: 1\rdata: ${json}\r\r`,
  );
  fc.assert(
    fc.property(plan, places, framings, (generation, cuts, frame) => {
      const request = { route: 'chat' as const, requestId: 'r-1', body: { messages: [] } };
      const events = toStream(generation, request);
      const bytes = Buffer.from(events.map(frame).join(''));
      const arrived = readChunks(cutAt(bytes, cuts)).events.map((event) => Buffer.from(event, 'latin1'));
      expect(assembleText('chat', arrived)).toBe(assembleText('chat', events, false));
    }),
    { numRuns: 100 },
  );
});
