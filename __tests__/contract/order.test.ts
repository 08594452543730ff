/** Several faults at once: the order of the request contract decides which one is answered. */
import { CHAT, COMPLETIONS, call, envelopeOf, type Sent } from '../helpers/call';
import { type Gateway, startGateway } from '../helpers/create-app';

/** A fault of one step, as what it adds to the request. */
interface Fault {
  readonly step: string;
  readonly status: number;
  readonly reason: string;
  readonly param: string | null;
  readonly body?: object;
  readonly sent?: Sent;
  /** Spoils the body's text. */
  readonly text?: (text: string) => string;
}

const KEY = { authorization: 'Bearer key-1' };

/** In the order in which they are asked. */
const FAULTS: readonly Fault[] = [
  { step: 'method', status: 405, reason: 'method', param: null, sent: { method: 'PUT' } },
  {
    step: 'credential',
    status: 401,
    reason: 'unauthenticated',
    param: null,
    sent: { headers: { authorization: 'Bearer no' } },
  },
  {
    step: 'encoding',
    status: 415,
    reason: 'encoding',
    param: null,
    sent: { headers: { 'content-encoding': 'zstd' } },
  },
  { step: 'size', status: 413, reason: 'too_large', param: null, text: (text) => text + ' '.repeat(5000) },
  {
    step: 'JSON',
    status: 400,
    reason: 'json',
    param: null,
    text: (text) => text.replace('{', '{,'),
  },
  {
    step: 'duplicate key',
    status: 400,
    reason: 'body_shape',
    param: null,
    text: (text) => text.replace('{', '{"x":1,"x":2,'),
  },
  { step: 'field type', status: 400, reason: 'field_type', param: 'max_tokens', body: { max_tokens: '1' } },
  {
    step: 'reserved argument',
    status: 400,
    reason: 'reserved_field',
    param: 'vllm_xargs',
    body: { vllm_xargs: { kv_transfer_params: 1 } },
  },
  { step: 'output option', status: 400, reason: 'output_option', param: 'audio', body: { audio: {} } },
  { step: 'model', status: 404, reason: 'model', param: 'model', body: { model: 'other' } },
  { step: 'sampling width', status: 400, reason: 'sampling_width', param: 'n', body: { n: 2 } },
  { step: 'input', status: 400, reason: 'required_field', param: 'messages', body: { messages: [] } },
];

const GOOD = { model: 'example/model', messages: [{ role: 'user', content: 'hi' }] };

function requestWith(faults: readonly Fault[]): Sent {
  const body = Object.assign({ ...GOOD }, ...faults.map((fault) => fault.body ?? {})) as object;
  // The first fault spoils last, so that a spoilt text still holds the later ones.
  const text = [...faults].reverse().reduce((was, fault) => fault.text?.(was) ?? was, JSON.stringify(body));
  const headers = Object.assign({ ...KEY }, ...faults.map((fault) => fault.sent?.headers ?? {})) as object;
  const method = faults.find((fault) => fault.sent?.method !== undefined)?.sent?.method ?? 'POST';
  return { method, headers: headers as Record<string, string>, body: text };
}

describe('the order of the checks', () => {
  let gateway: Gateway;

  beforeEach(async () => {
    gateway = await startGateway({
      router: { apiKeys: ['key-1'] },
      fleetFile: { serving: { max_request_bytes: 5000 } },
    });
  });

  async function expectRefusal(faults: readonly Fault[], expected: Fault): Promise<void> {
    const reply = await call(gateway.url + CHAT, requestWith(faults));
    const { status, reason, param } = expected;
    expect({ status: reply.status, reason: reply.headers['x-narwhal-reason'] }).toEqual({ status, reason });
    expect(envelopeOf(reply).param).toBe(param);
    expect(gateway.fleet.calls).toEqual([]);
    const rows = await gateway.allRows();
    expect(rows).toMatchObject([{ status, reason }]);
  }

  it('lets the request of these tests pass without a fault', async () => {
    expect((await call(gateway.url + CHAT, requestWith([]))).status).toBe(200);
  });

  it.each(FAULTS)('refuses a fault of $step alone', async (fault) => {
    await expectRefusal([fault], fault);
  });

  it.each(FAULTS.slice(0, -1))('asks for $step before every later step', async (first) => {
    const later = FAULTS.slice(FAULTS.indexOf(first) + 1);
    for (const second of later) {
      const reply = await call(gateway.url + CHAT, requestWith([first, second]));
      const { status, reason, param } = first;
      const answer = { status: reply.status, reason: reply.headers['x-narwhal-reason'] };
      expect([second.step, answer]).toEqual([second.step, { status, reason }]);
      expect(envelopeOf(reply).param).toBe(param);
    }
    expect(gateway.fleet.calls).toEqual([]);
    const rows = await gateway.allRows();
    expect(rows.map(({ reason }) => reason)).toEqual(later.map(() => first.reason));
  });

  it('answers the first of all faults at once, one step after the other', async () => {
    const left = [...FAULTS];
    for (let first = left[0]; first !== undefined; first = left[0]) {
      const reply = await call(gateway.url + CHAT, requestWith(left));
      expect([first.step, reply.headers['x-narwhal-reason']]).toEqual([first.step, first.reason]);
      left.shift();
    }
    expect(gateway.fleet.calls).toEqual([]);
  });

  it('reports the first wrong field in the order of the table, whatever the order of the body', async () => {
    const wrong = {
      messages: 1,
      prompt: 2,
      max_completion_tokens: 'x',
      max_tokens: 'x',
      best_of: 'x',
      n: 'x',
    };
    const all: Record<string, unknown> = { ...wrong, stream: 'x', model: 5 };
    for (const field of [
      'model',
      'stream',
      'n',
      'best_of',
      'max_tokens',
      'max_completion_tokens',
      'prompt',
      'messages',
    ]) {
      const reply = await call(gateway.url + COMPLETIONS, { headers: KEY, body: all });
      expect(envelopeOf(reply).param).toBe(field);
      delete all[field];
    }
  });

  it('asks for a seat after everything else', async () => {
    let entered: () => void = () => undefined;
    const inside = new Promise<void>((resolve) => {
      entered = resolve;
    });
    const small = await startGateway({
      fleetFile: { serving: { max_connections: 1, max_attempts: 1 } },
      stub: { script: { leg: 'prefill', hang: true, onCall: () => entered() } },
    });
    const controller = new AbortController();
    const held = call(small.url + CHAT, { body: GOOD, signal: controller.signal }).catch(() => null);
    await inside;
    expect((await call(small.url + CHAT, { body: { ...GOOD, messages: [] } })).status).toBe(400);
    expect((await call(small.url + CHAT, { body: { ...GOOD, model: 'other' } })).status).toBe(404);
    const refused = await call(small.url + CHAT, { body: GOOD });
    expect(refused.status).toBe(429);
    expect(refused.headers['retry-after']).toMatch(/^[1-5]$/);
    expect(small.fleet.calls).toHaveLength(1);
    controller.abort();
    await held;
  });
});
