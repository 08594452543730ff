/** Exactly one journal row for each request to a completion route, with the right end. */
import type { RequestHandler } from 'express';
import type { JournalRow, NarwhalRouterOptions } from '../../lib/index';
import { CHAT, CHAT_BODY, COMPLETION_BODY, COMPLETIONS, call, type Sent } from '../helpers/call';
import { type Gateway, type GatewayOptions, startGateway } from '../helpers/create-app';

interface Case {
  readonly words: string;
  readonly options?: GatewayOptions;
  readonly path?: string;
  readonly sent: Sent;
  readonly status: number;
  readonly row: Partial<JournalRow>;
}

const BROKEN_AUTH: NarwhalRouterOptions = {
  authenticate: () => {
    throw new Error('HOSTSECRET');
  },
};

const CASES: readonly Case[] = [
  {
    words: 'a good answer',
    sent: { body: CHAT_BODY, headers: { 'x-request-id': 'c-1' } },
    status: 200,
    row: {
      terminal: 'completed',
      reason: null,
      route: CHAT,
      stream: false,
      client_rid: 'c-1',
      prefill_iid: 'p0',
      decode_iid: 'd0',
      crossed: true,
      attempts: 1,
      decode_attempts: 1,
      kv: 'claimed',
      error: null,
    },
  },
  {
    words: 'a good stream',
    path: COMPLETIONS,
    sent: { body: { ...COMPLETION_BODY, stream: true } },
    status: 200,
    row: { terminal: 'completed', reason: null, route: COMPLETIONS, stream: true },
  },
  {
    words: 'a body that is no JSON',
    sent: { body: '{' },
    status: 400,
    row: { terminal: 'invalid', reason: 'json', stream: null },
  },
  {
    words: 'a wrong key',
    options: { router: { apiKeys: ['k'] } },
    sent: { body: CHAT_BODY, headers: { authorization: 'Bearer x' } },
    status: 401,
    row: { terminal: 'rejected', reason: 'unauthenticated', tenant: null, stream: null },
  },
  {
    words: 'another model',
    options: { router: { apiKeys: { k: { tenant: 'red' } } } },
    sent: { body: { ...CHAT_BODY, model: 'x', stream: true }, headers: { authorization: 'Bearer k' } },
    status: 404,
    row: { terminal: 'invalid', reason: 'model', tenant: 'red', stream: true },
  },
  {
    words: 'another method',
    sent: { method: 'GET' },
    status: 405,
    row: { terminal: 'invalid', reason: 'method' },
  },
  {
    words: 'too large a body',
    options: { fleetFile: { serving: { max_request_bytes: 10 } } },
    sent: { body: CHAT_BODY },
    status: 413,
    row: { terminal: 'invalid', reason: 'too_large' },
  },
  {
    words: 'an unknown encoding',
    sent: { body: CHAT_BODY, headers: { 'content-encoding': 'zstd' } },
    status: 415,
    row: { terminal: 'invalid', reason: 'encoding' },
  },
  {
    words: 'a hook that throws',
    options: { router: BROKEN_AUTH },
    sent: { body: CHAT_BODY },
    status: 500,
    row: { terminal: 'failed', reason: 'internal' },
  },
  {
    words: "an engine's refusal",
    options: { stub: { script: { leg: 'prefill', status: 422 } } },
    sent: { body: CHAT_BODY },
    status: 422,
    row: { terminal: 'invalid', reason: 'engine_refused', attempts: 1, decode_attempts: 0 },
  },
  {
    words: "an engine's fault",
    options: {
      stub: { script: { leg: 'prefill', status: 500 } },
      fleetFile: { serving: { max_attempts: 1 } },
    },
    sent: { body: CHAT_BODY },
    status: 502,
    row: { terminal: 'failed', reason: 'engine_error', prefill_iid: 'p0', decode_iid: null, kv: null },
  },
];

/** Fields of a row, in their order. */
const FIELDS =
  'run rid client_rid tenant route stream at arrived input_len output_len wanted_len ttft_s first_byte_s tpot_s queue_wait_s price_s shadow duration_s prefill_iid decode_iid crossed terminal reason cancelled_phase status attempts decode_attempts attempt_failures kv parts finish_reason error';

describe('the row', () => {
  it.each(CASES)('of $words', async ({ options, path = CHAT, sent, status, row }) => {
    const gateway = await startGateway(options);
    const reply = await call(gateway.url + path, sent);
    expect(reply.status).toBe(status);
    const rows = await gateway.allRows();
    expect(rows).toHaveLength(1);
    expect(rows[0]).toMatchObject({ ...row, status, rid: reply.headers['x-request-id'] });
    expect(reply.headers['x-narwhal-reason'] ?? null).toBe(row.reason);
    // A later field may be added at the end of its group, none of these may go.
    expect(Object.keys(rows[0]!)).toEqual(expect.arrayContaining(FIELDS.split(' ')));
    expect(JSON.stringify(rows)).not.toMatch(/undefined|Say hello/);
    expect(Object.values(rows[0]!)).not.toContain(undefined);
  });

  it('of a request above the limit', async () => {
    const { gateway, leave } = await withHeldRequest('prefill');
    const refused = await call(gateway.url + CHAT, { body: CHAT_BODY });
    expect(refused.status).toBe(429);
    expect(await gateway.journal.firstRow()).toMatchObject({
      status: 429,
      terminal: 'rejected',
      reason: 'inflight_limit',
      queue_wait_s: expect.any(Number) as number,
    });
    await leave();
    expect(await gateway.allRows()).toHaveLength(2);
  });

  it.each(['prefill', 'decode'] as const)('of a client that leaves during %s', async (leg) => {
    const { gateway, leave } = await withHeldRequest(leg);
    await leave();
    await gateway.journal.waitForRows(1);
    expect(await gateway.allRows()).toMatchObject([
      {
        status: 499,
        terminal: 'cancelled',
        reason: 'client_closed',
        cancelled_phase: leg,
        prefill_iid: 'p0',
      },
    ]);
  });

  it('of a client that leaves while the host is asked who it is', async () => {
    let asked: () => void = () => undefined;
    let answer: (identity: { tenant: string }) => void = () => undefined;
    const arrived = new Promise<void>((resolve) => {
      asked = resolve;
    });
    const authenticate = (): Promise<{ tenant: string }> => {
      asked();
      return new Promise((resolve) => {
        answer = resolve;
      });
    };
    const gateway = await startGateway({ router: { authenticate } });
    const controller = new AbortController();
    const gone = call(gateway.url + CHAT, { body: CHAT_BODY, signal: controller.signal }).catch(() => null);
    await arrived;
    controller.abort();
    await gone;
    await gateway.journal.waitForRows(1);
    answer({ tenant: 'late' });
    expect(await gateway.allRows()).toMatchObject([{ status: 499, terminal: 'cancelled', attempts: 0 }]);
    expect(gateway.fleet.calls).toEqual([]);
  });

  it('of requests while the router closes', async () => {
    const { gateway, leave } = await withHeldRequest('prefill');
    const closed = gateway.router.close();
    const refused = await call(gateway.url + CHAT, { body: CHAT_BODY });
    expect([refused.status, refused.headers['retry-after']]).toEqual([503, '1']);
    expect(refused.headers['connection']).toBe('close');
    expect(await gateway.journal.firstRow()).toMatchObject({
      status: 503,
      terminal: 'rejected',
      reason: 'shutting_down',
    });
    await leave();
    await closed;
    expect(gateway.journal.rows).toHaveLength(2);
    expect(gateway.journal.closed).toBe(true);
  });

  it('is not written for what the host answers', async () => {
    const host: RequestHandler = (_req, res) => {
      res.end('host');
    };
    const gateway = await startGateway({ after: [host] });
    await call(`${gateway.url}/v1/embeddings`, { body: '{}' });
    await call(`${gateway.url}/health`, { method: 'GET' });
    expect(await gateway.allRows()).toEqual([]);
  });

  it('is one for each of many requests at once', async () => {
    const gateway = await startGateway();
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        call(gateway.url + CHAT, { body: n % 2 === 0 ? CHAT_BODY : { ...CHAT_BODY, n: 2 } }),
      ),
    );
    const rows = await gateway.allRows();
    const ids = (list: readonly unknown[]) => [...list].sort();
    expect(ids(rows.map(({ rid }) => rid))).toEqual(
      ids(replies.map(({ headers }) => headers['x-request-id'])),
    );
    expect(new Set(rows.map(({ run }) => run)).size).toBe(1);
  });
});

/** A gateway with one seat, and one request that waits in this leg until its client leaves. */
async function withHeldRequest(
  leg: 'prefill' | 'decode',
): Promise<{ gateway: Gateway; leave: () => Promise<void> }> {
  let reached: () => void = () => undefined;
  const waiting = new Promise<void>((resolve) => {
    reached = resolve;
  });
  const gateway = await startGateway({
    fleetFile: { serving: { max_connections: 1, max_attempts: 1 } },
    stub: { script: { leg, hang: true, onCall: () => reached() } },
  });
  const controller = new AbortController();
  const held = call(gateway.url + CHAT, { body: CHAT_BODY, signal: controller.signal }).catch(() => null);
  await waiting;
  return {
    gateway,
    async leave() {
      controller.abort();
      await held;
    },
  };
}
