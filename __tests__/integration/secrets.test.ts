import { request } from 'node:http';
import { AUTHORIZED, ENGINE_KEY, heads, papers, withKeys } from './canaries';
import { CHAT, HI, startGateway } from './gateway';

describe('what a client sends', () => {
  const CANARIES = {
    ...AUTHORIZED,
    'x-api-key': 'CANARY-x-api-key',
    'api-key': 'CANARY-api-key',
    'x-goog-api-key': 'CANARY-goog',
    cookie: 'sid=CANARY-cookie',
    'proxy-authorization': 'Basic CANARY-proxy',
    'openai-organization': 'CANARY-org',
    'x-narwhal-tenant': 'CANARY-tenant',
    'x-forwarded-for': 'CANARY-forwarded',
    'user-agent': 'CANARY-agent',
    referer: 'http://CANARY-referer/',
    'x-stainless-lang': 'CANARY-stainless',
    'accept-language': 'CANARY-language',
    baggage: 'CANARY=baggage',
  };

  it.each([false, true])(
    'reaches no engine outside the body, no row, no line, no answer (stream: %s)',
    async (stream) => {
      const gateway = await withKeys({ stub: { decode: 2, prefill: 2 } });
      // The first attempt fails, so that the second one is looked at as well.
      gateway.fleet.script = [{ leg: 'decode', status: 500 }];
      const body = {
        messages: [{ role: 'user', content: 'CANARY-prompt' }],
        user: 'CANARY-user',
        x: 'CANARY-x',
        stream,
      };
      const reply = await gateway.post(`${CHAT}?key=CANARY-query`, body, CANARIES);
      expect(reply.status).toBe(200);
      expect(gateway.legs).toHaveLength(4);
      expect(heads(gateway)).not.toMatch(/CANARY-(?!engine)/);
      expect(await papers(gateway, 1)).not.toContain('CANARY');
      expect(JSON.stringify(reply.headers)).not.toContain('CANARY');
      expect(await gateway.row()).toMatchObject({ tenant: 'team-a', route: CHAT });
    },
  );

  const REFUSED: [string, object | string, Record<string, string>, number][] = [
    ['no JSON', '{"messages":"CANARY-prompt', AUTHORIZED, 400],
    ['no object', '["CANARY-prompt"]', AUTHORIZED, 400],
    [
      'two wrong types',
      { messages: 'CANARY-prompt', max_tokens: 'CANARY-max', stream: 'CANARY-s' },
      AUTHORIZED,
      400,
    ],
    ['an item that is no object', { messages: ['CANARY-prompt'] }, AUTHORIZED, 400],
    ['another model', { model: 'CANARY-model', messages: HI }, AUTHORIZED, 404],
    ['a wrong tool', { messages: HI, tools: [{ type: 'CANARY-tool' }] }, AUTHORIZED, 400],
    [
      'a reserved argument',
      { messages: HI, vllm_xargs: { kv_transfer_params: 'CANARY-kv' } },
      AUTHORIZED,
      400,
    ],
    ['a wrong key', { messages: HI }, { authorization: 'Bearer CANARY-wrong' }, 401],
    ['a wrong scheme', { messages: HI }, { authorization: 'Basic CANARY-basic' }, 401],
    ['an unknown encoding', 'CANARY-body', { ...AUTHORIZED, 'content-encoding': 'CANARY-encoding' }, 415],
    ['what is no gzip', 'CANARY-body', { ...AUTHORIZED, 'content-encoding': 'gzip' }, 400],
  ];

  it.each(REFUSED)('is repeated nowhere where it is refused: %s', async (_name, body, headers, status) => {
    const gateway = await withKeys();
    const reply = await gateway.post(`${CHAT}?key=CANARY-query`, body, headers);
    expect(reply.status).toBe(status);
    expect(reply.text + JSON.stringify(reply.headers)).not.toContain('CANARY');
    expect(await papers(gateway, 1)).not.toContain('CANARY');
    expect(gateway.fleet.calls).toEqual([]);
  });

  it.each(['prefill', 'decode'] as const)(
    'is told to nobody else where an engine quotes it in a refusal (%s leg)',
    async (leg) => {
      const gateway = await withKeys();
      const message = "1 validation error: {'input': {'content': 'CANARY-prompt'}}";
      gateway.fleet.script = {
        leg,
        status: 400,
        body: { error: { message, type: 'BadRequestError', code: 400 } },
      };
      const reply = await gateway.post(
        CHAT,
        { messages: [{ role: 'user', content: 'CANARY-prompt' }] },
        AUTHORIZED,
      );
      expect([reply.status, reply.text.includes('CANARY-prompt')]).toEqual([400, true]);
      expect(await papers(gateway, 1)).not.toContain('CANARY');
      expect(await gateway.row()).toMatchObject({
        reason: 'engine_refused',
        error: '400 BadRequestError 400',
      });
    },
  );

  it('in control fields is dropped: hosts, ports, ids and transfers of a client reach no engine', async () => {
    const gateway = await withKeys();
    const own = {
      kv_transfer_params: { do_remote_prefill: true, remote_host: 'CANARY-host', remote_port: 9 },
      ec_transfer_params: { a: 'CANARY-ec' },
      request_id: 'CANARY-id',
      rid: 'CANARY-rid',
      bootstrap_host: 'CANARY-boot',
      bootstrap_port: 9,
      bootstrap_room: 9,
    };
    const replies = await Promise.all(
      [1, 2].map(() => gateway.post(CHAT, { messages: HI, ...own }, AUTHORIZED)),
    );
    expect(replies.map(({ status }) => status)).toEqual([200, 200]);
    for (const { body } of gateway.legs) expect(body.toString('utf8')).not.toContain('CANARY');
    expect(new Set(gateway.legs.map(({ requestId }) => requestId)).size).toBe(4);
  });

  it('as trace context goes on to both legs; the rest of the headers is ours alone', async () => {
    const gateway = await withKeys();
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    const trace = { traceparent, tracestate: 'vendor=1' };
    expect((await gateway.post(CHAT, { messages: HI }, { ...AUTHORIZED, ...trace })).status).toBe(200);
    const { rid } = await gateway.row();
    expect(gateway.legs.map(({ headers }) => headers)).toEqual(
      ['prefill', 'decode'].map((leg) => ({
        host: expect.any(String),
        connection: 'keep-alive',
        'content-type': 'application/json',
        'content-length': expect.any(String),
        'x-request-id': `${rid}-a1-${leg}`,
        authorization: `Bearer ${ENGINE_KEY}`,
        ...trace,
      })),
    );
  });
});

describe('the request id', () => {
  it.each([
    ['of the client is kept for the row', 'trace-1 x', 'trace-1 x'],
    ['that is too long is dropped', 'x'.repeat(129), null],
    ['that is as long as it may be is kept', 'x'.repeat(128), 'x'.repeat(128)],
    ['with a tab is dropped', 'a\tb', null],
    ['with bytes above ASCII is dropped', 'a\u00ffb', null],
    ['with an encoded line break is but text', 'a%0d%0aSet-Cookie:x', 'a%0d%0aSet-Cookie:x'],
  ])('%s; the answer has the own one of the router', async (_name, sent, kept) => {
    const gateway = await startGateway();
    const reply = await gateway.post(CHAT, { messages: HI }, { 'x-request-id': sent });
    expect(reply.status).toBe(200);
    const row = await gateway.row();
    expect(row.client_rid).toBe(kept);
    expect(reply.headers['x-request-id']).toBe(row.rid);
    expect(row.rid).not.toBe(sent);
    expect(reply.headers['set-cookie']).toBeUndefined();
    expect(heads(gateway)).not.toContain(JSON.stringify(sent).slice(1, -1));
  });

  it('sent twice is one value in the answer', async () => {
    const gateway = await startGateway();
    const headers = { 'content-type': 'application/json', 'x-request-id': ['one', 'two'] };
    const rids = await new Promise<string[]>((resolve, reject) => {
      const req = request(gateway.url + CHAT, { method: 'POST', headers, agent: false }, (res) => {
        res.resume().once('end', () => resolve(res.headersDistinct['x-request-id'] ?? []));
      });
      req.once('error', reject).end(JSON.stringify({ messages: HI }));
    });
    expect(rids).toEqual([(await gateway.row()).rid]);
  });
});
