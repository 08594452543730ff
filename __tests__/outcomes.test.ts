/** The one table of ways to end. */
import { type ErrorDetails, NarwhalError } from '../lib/errors';
import { frameCode, OUTCOMES, type OutcomeName, REASONS, type Terminal } from '../lib/outcomes';

/** The reason words of the journal, each with its terminal. */
const WORDS: Readonly<Partial<Record<Terminal, string>>> = {
  failed:
    'engine_unreachable engine_connection engine_timeout engine_overloaded engine_error engine_auth kv_handoff invalid_response response_limit local_pool no_engine internal',
  rejected: 'unauthenticated inflight_limit saturated tenant_limit no_engine shutting_down',
  refused: 'prompt queue',
  expired: 'deadline queue_timeout handoff',
  invalid:
    'json body_shape encoding too_large field_type reserved_field output_option model sampling_width required_field method engine_refused',
  cancelled: 'client_closed',
};
const PAIRS = Object.entries(WORDS).flatMap(([terminal, words]) =>
  words.split(' ').map((reason) => [reason, terminal] as const),
);
const NAMES = Object.keys(OUTCOMES) as OutcomeName[];

/** What a row needs beside its name. */
function detailsOf(name: OutcomeName): ErrorDetails {
  if (name === 'engineRefused') return { upstream: { status: 422, type: 'BadRequestError', code: 422 } };
  return OUTCOMES[name].type === 'leg' ? { leg: 'decode' } : {};
}

describe('the table of outcomes', () => {
  it('is frozen, and so is every row', () => {
    expect(Object.isFrozen(OUTCOMES)).toBe(true);
    for (const name of NAMES) expect([name, Object.isFrozen(OUTCOMES[name])]).toEqual([name, true]);
    expect(() => Object.assign(OUTCOMES, { own: {} })).toThrow(TypeError);
    expect(() => Object.assign(OUTCOMES.badJson, { status: 200 })).toThrow(TypeError);
  });

  it.each(PAIRS)('has the reason %s in the terminal %s', (reason, terminal) => {
    expect(REASONS.get(reason)).toContain(terminal);
  });

  it('has each reason in one terminal, but for no_engine, and no other reason', () => {
    const known = [...REASONS].flatMap(([reason, terminals]) =>
      terminals.map((terminal) => `${reason} ${terminal}`),
    );
    expect(known.sort()).toEqual(PAIRS.map((pair) => pair.join(' ')).sort());
    const shared = [...REASONS].filter(([, terminals]) => terminals.length > 1);
    expect(shared.map(([reason]) => reason)).toEqual(['no_engine']);
  });

  it.each<[OutcomeName, number | string, string, string | null]>([
    ['badJson', 400, 'invalid_request_error', null],
    ['unknownEncoding', 415, 'invalid_request_error', null],
    ['unauthenticated', 401, 'authentication_error', 'invalid_api_key'],
    ['unknownModel', 404, 'invalid_request_error', 'model_not_found'],
    ['wrongMethod', 405, 'invalid_request_error', 'method_not_allowed'],
    ['bodyTooLarge', 413, 'request_too_large', null],
    ['inflightLimit', 429, 'server_overloaded_error', null],
    ['saturated', 429, 'server_overloaded_error', null],
    ['promptOverBudget', 429, 'server_overloaded_error', null],
    ['noEngine', 503, 'no_schedulable_engines', 'no_schedulable_engines'],
    ['shuttingDown', 503, 'shutting_down', 'shutting_down'],
    ['queueExpired', 504, 'queue_expired', 'queue_expired'],
    ['handoffExpired', 504, 'handoff_expired', 'handoff_expired'],
    ['requestExpired', 504, 'request_expired', 'request_expired'],
    ['engineTimeout', 504, 'leg', 'leg'],
    ['engineError', 502, 'leg', 'leg'],
    ['engineAuth', 502, 'leg', 'leg'],
    ['internal', 500, 'internal_error', null],
  ])('has %s as %s %s %s', (name, status, type, code) => {
    expect(OUTCOMES[name]).toMatchObject({ status, type, code });
  });

  it('never says invalid_request_error on a 429 or above', () => {
    for (const { status, type } of Object.values(OUTCOMES)) {
      if (status !== '4xx' && status >= 429) expect(type).not.toBe('invalid_request_error');
    }
  });

  it('has Retry-After on every 429 and 503 that a retry can cure, and nowhere else', () => {
    const waiting = NAMES.filter((name) => OUTCOMES[name].retryAfter);
    const expected = NAMES.filter((name) => {
      const { status } = OUTCOMES[name];
      return (status === 429 && name !== 'promptOverBudget') || status === 503;
    });
    expect(waiting).toEqual(expected);
  });

  it('calls a frame expired for what a deadline ended, else failed', () => {
    expect(frameCode('requestExpired')).toBe('expired');
    expect(frameCode('engineTimeout')).toBe('expired');
    expect(frameCode('engineConnection')).toBe('failed');
    expect(frameCode('internal')).toBe('failed');
  });
});

describe('an error over the table', () => {
  it.each(NAMES)('can be made of %s', (name) => {
    const row = OUTCOMES[name];
    const error = new NarwhalError(name, 'words', { param: 'field', ...detailsOf(name) });
    expect(error.reason).toBe(row.reason);
    expect(Object.keys(error.toJSON().error)).toEqual(['message', 'type', 'param', 'code']);
    expect('retry-after' in error.headers).toBe(row.retryAfter);
    expect(JSON.stringify(error)).not.toMatch(/"leg"|"\*"/);
  });

  it.each(['', 'teapot', 'toString', '__proto__', 'constructor'])(
    'throws for the unregistered name "%s"',
    (name) => {
      expect(() => new NarwhalError(name as OutcomeName, 'words')).toThrow(/^unregistered outcome/);
    },
  );

  it('throws where a row needs a leg and none is told', () => {
    expect(() => new NarwhalError('engineError', 'words')).toThrow('needs a leg');
  });

  it.each([200, 399, 401, 403, 408, 429, 500, 400.5, Number.NaN])(
    "throws for %d as an engine's refusal of the request",
    (status) => {
      const upstream = { status, type: 'x', code: null };
      expect(() => new NarwhalError('engineRefused', 'words', { upstream })).toThrow(
        "not an engine's refusal",
      );
    },
  );

  it("throws for an engine's refusal without the engine's words", () => {
    expect(() => new NarwhalError('engineRefused', 'words')).toThrow(TypeError);
  });

  it.each([
    [undefined, '1'],
    [0, '1'],
    [-5, '1'],
    [Number.NaN, '1'],
    [0.2, '1'],
    [1.2, '2'],
    [7, '7'],
    [60.5, '60'],
    [3600, '60'],
    [Number.POSITIVE_INFINITY, '60'],
  ])('turns a wait of %s s into Retry-After %s', (retryAfterS, header) => {
    expect(new NarwhalError('noEngine', 'words', { retryAfterS }).headers).toEqual({ 'retry-after': header });
  });
});
