import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import axios, { AxiosError } from 'axios';
import express from 'express';
import { createFleet, narwhalRouter } from '../../lib/index';
import type { StubScript } from '../../lib/testing';
import { call } from '../helpers/call';
import { closeLater } from '../helpers/close-all';
import { listen, startGateway as startWhole } from '../helpers/create-app';
import { CHAT, type Gateway, HI, type Setup, startGateway, until } from './gateway';

const ENGINE_KEY = 'CANARY-engine-key-7f3a';
const CLIENT_KEY = 'CANARY-client-key-91bc';
const ENGINE_KEY_NAME = 'NARWHAL_TEST_SECRETS_KEY';

beforeAll(() => {
  process.env[ENGINE_KEY_NAME] = ENGINE_KEY;
});
afterAll(() => {
  delete process.env[ENGINE_KEY_NAME];
});

function withKeys(setup: Setup = {}): Promise<Gateway> {
  return startGateway({
    ...setup,
    stub: { apiKey: ENGINE_KEY, ...setup.stub },
    file: { ...setup.file, engine: { engine_api_key_env: ENGINE_KEY_NAME, ...setup.file?.engine } },
    options: { apiKeys: { [CLIENT_KEY]: { tenant: 'team-a' } }, ...setup.options },
  });
}

const AUTHORIZED = { authorization: `Bearer ${CLIENT_KEY}` };

/** Everything that an engine was told beside its body. */
function heads(gateway: Gateway): string {
  return JSON.stringify(
    gateway.fleet.calls.map(({ rawHeaders, path, query, method }) => [rawHeaders, path, query, method]),
  );
}

/** Everything that an operator may read. */
async function papers(gateway: Gateway, rows: number): Promise<string> {
  return (
    JSON.stringify(await gateway.rowsOf(rows)) + gateway.logText + JSON.stringify(gateway.router.state())
  );
}

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

describe('the key of the engines', () => {
  const echo = { error: { message: `key ${ENGINE_KEY} at 127.0.0.1`, type: 'X', param: null, code: null } };
  const SCRIPTS: [string, StubScript][] = [
    ['is good', {}],
    ['is echoed in a refusal', { status: 400, body: echo }],
    ['is echoed in a failure', { status: 500, body: echo }],
    ['is echoed as a text', { status: 401, body: `wrong key: Bearer ${ENGINE_KEY}` }],
    ['is echoed where the engine is overloaded', { status: 503, body: echo }],
    ['is echoed in a redirect', { redirect: `http://127.0.0.1:1/?key=${ENGINE_KEY}` }],
    ['is echoed in headers', { headers: { 'x-echo': ENGINE_KEY, 'set-cookie': `k=${ENGINE_KEY}` } }],
    ['goes to an engine that resets', { resetAfterFrames: 0 }],
    ['goes to an engine that is silent', { hang: true }],
  ];
  const ROWS = SCRIPTS.flatMap(([name, script]) =>
    (['prefill', 'decode'] as const).map((leg) => [name, leg, script] as const),
  );

  it.each(ROWS)('is in no answer, row or line where it %s (%s leg)', async (_name, leg, script) => {
    const timeouts = script.hang ? 0.1 : 60;
    const file = {
      serving: { prefill_timeout_s: timeouts, max_attempts: 1 },
      engine: { first_token_timeout_s: timeouts },
    };
    const gateway = await withKeys({ file });
    gateway.fleet.script = { leg, ...script };
    const replies = [];
    for (const stream of [false, true]) {
      replies.push(await gateway.post(CHAT, { messages: HI, stream }, AUTHORIZED));
    }
    expect(JSON.stringify(replies.map(({ headers, text }) => [headers, text]))).not.toContain('CANARY');
    expect(await papers(gateway, 2)).not.toContain('CANARY');
    expect(gateway.legs[0]?.headers.authorization).toBe(`Bearer ${ENGINE_KEY}`);
  });

  it.each([0, 2])(
    'is in no stream where the engine echoes it in an error frame after %i frames',
    async (frames) => {
      const gateway = await withKeys({ file: { serving: { max_attempts: 1 } } });
      gateway.fleet.script = {
        leg: 'decode',
        errorFrameAfter: { frames, error: { ...echo.error, code: 500 } },
      };
      const reply = await gateway.post(CHAT, { messages: HI, stream: true }, AUTHORIZED);
      expect(reply.text).toContain('"error"');
      expect(reply.text).not.toContain('CANARY');
      expect(await papers(gateway, 1)).not.toContain('CANARY');
    },
  );

  it('is in no answer, row or line where the engine refuses the connection', async () => {
    const gateway = await withKeys();
    await gateway.fleet.engine('d0').stop();
    const reply = await gateway.post(CHAT, { messages: HI }, AUTHORIZED);
    expect(reply.status).toBe(502);
    expect(reply.text).not.toMatch(/CANARY|127\.0\.0\.1|ECONN/);
    expect(await papers(gateway, 1)).not.toContain('CANARY');
  });
});

describe('the address of an engine', () => {
  it.each([false, true])(
    'is in no answer where an engine names itself or its producer (stream: %s)',
    async (stream) => {
      const gateway = await startGateway();
      const [producer, own] = ['p0', 'd0'].map((iid) => gateway.fleet.engine(iid).url);
      const message = `pull from ${producer}, ${producer?.slice('http://'.length)} and 127.0.0.1:5600 at ${own}/v1 failed`;
      gateway.fleet.script = {
        leg: 'decode',
        status: 400,
        body: { error: { message, type: 'X', code: 400 } },
      };
      const reply = await gateway.post(CHAT, { messages: HI, stream });
      expect(reply.status).toBe(400);
      expect(reply.text).toContain('pull from [engine], [engine] and [engine] at [engine]/v1 failed');
    },
  );
});

describe('headers of an engine', () => {
  it.each([false, true])('do not reach the client, hop-by-hop or not (stream: %s)', async (stream) => {
    const gateway = await startGateway();
    gateway.fleet.script = {
      leg: 'decode',
      headers: {
        'keep-alive': 'timeout=77',
        'proxy-authenticate': 'Basic',
        trailer: 'x-end',
        upgrade: 'h2c',
        'x-engine': 'secret',
        'x-request-id': 'theirs',
        'set-cookie': 'a=b',
      },
      closeAfterAnswer: true,
    };
    const reply = await gateway.post(CHAT, { messages: HI, stream });
    expect(reply.status).toBe(200);
    const own = ['x-powered-by', 'x-request-id', 'content-type', 'date', 'connection', 'etag'];
    const ours = stream ? ['cache-control', 'x-accel-buffering', 'transfer-encoding'] : ['content-length'];
    expect(
      Object.keys(reply.headers)
        .filter((name) => !own.includes(name))
        .sort(),
    ).toEqual(ours.sort());
    expect(reply.headers['x-request-id']).toBe((await gateway.row()).rid);
  });

  it('that give a stream a length do not give one to the client', async () => {
    const gateway = await startGateway();
    const text =
      'data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';
    gateway.fleet.script = {
      leg: 'decode',
      rawBytes: Buffer.from(text),
      headers: { 'content-length': String(text.length) },
    };
    const reply = await gateway.post(CHAT, { messages: HI, stream: true });
    expect(reply.text).toBe(text);
    expect(reply.headers['content-length']).toBeUndefined();
    expect(reply.headers['transfer-encoding']).toBe('chunked');
  });
});

async function recordingServer(seen: string[]): Promise<string> {
  const server: Server = createServer((req, res) => {
    seen.push(`${req.method} ${req.url}`);
    res.statusCode = 502;
    res.end();
  });
  server.on('connect', (req, socket) => {
    seen.push(`CONNECT ${req.url}`);
    socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closeLater({
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('a proxy in the environment', () => {
  const NAMES = ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'https_proxy', 'ALL_PROXY', 'all_proxy'];
  const before = NAMES.map((name) => process.env[name]);

  afterEach(() => {
    for (const [at, name] of NAMES.entries()) {
      const value = before[at];
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  });

  it.each([false, true])('sees no call to an engine (through axios: %s)', async (throughAxios) => {
    const seen: string[] = [];
    const proxy = await recordingServer(seen);
    for (const name of NAMES) process.env[name] = proxy;
    const client = axios.create();
    if (throughAxios) client.interceptors.request.use((config) => config);
    const gateway = await startGateway({ options: { client } });
    for (const stream of [false, true]) {
      expect((await gateway.post(CHAT, { messages: HI, stream })).status).toBe(200);
    }
    expect(gateway.legs).toHaveLength(4);
    expect(seen).toEqual([]);
  });
});

describe('an axios client of the host', () => {
  it('has its interceptors asked on both legs, for the request and the answer', async () => {
    const client = axios.create();
    const seen: string[] = [];
    client.interceptors.request.use((config) => {
      if (config.method === 'post') seen.push(`${config.method} ${config.url}`);
      config.headers.set('traceparent', '00-host');
      return config;
    });
    client.interceptors.response.use((response) => {
      if (response.config.method === 'post') seen.push(String(response.status));
      return response;
    });
    const gateway = await startGateway({ options: { client } });
    const whole = await gateway.post(CHAT, { messages: HI });
    const streamed = await gateway.post(CHAT, { messages: HI, stream: true });
    expect([whole.status, streamed.status]).toEqual([200, 200]);
    expect(streamed.text).toContain('data: [DONE]\n\n');
    expect(seen).toEqual(
      Array(4)
        .fill([`post ${CHAT}`, '200'])
        .flat(),
    );
    expect(gateway.legs.map(({ headers }) => headers['traceparent'])).toEqual(Array(4).fill('00-host'));
  });

  it('is also what a fleet makes by itself, where interceptors may be put on at any time', async () => {
    const { fleet: stub } = await startWhole();
    const fleet = createFleet(stub.fleetFile());
    const router = closeLater(narwhalRouter({ fleet, journal: false }));
    const { url } = await listen(express().use(router));
    const ask = () => call(url + CHAT, { body: { messages: HI } });
    const seen: (string | undefined)[] = [];
    expect((await ask()).status).toBe(200);
    const added = fleet.client.interceptors.request.use((config) => {
      if (config.method === 'post') seen.push(config.url);
      return config;
    });
    expect((await ask()).status).toBe(200);
    fleet.client.interceptors.request.eject(added);
    expect((await ask()).status).toBe(200);
    expect(seen).toEqual([CHAT, CHAT]);
    await router.close();
    await fleet.close();
  });

  it('has its own default headers sent, with and without interceptors', async () => {
    const client = axios.create({ headers: { 'x-team': 'one', common: { 'x-all': 'two' } } });
    const gateway = await startGateway({ options: { client }, stub: { lenient: ['header'] } });
    expect((await gateway.post(CHAT, { messages: HI })).status).toBe(200);
    client.interceptors.request.use((config) => config);
    expect((await gateway.post(CHAT, { messages: HI })).status).toBe(200);
    expect(gateway.legs.map(({ headers }) => [headers['x-team'], headers['x-all']])).toEqual(
      Array(4).fill(['one', 'two']),
    );
  });

  it.each(['request', 'response'] as const)(
    'leaks nothing where its %s interceptor fails with a whole axios error',
    async (kind) => {
      const client = axios.create();
      if (kind === 'request') {
        client.interceptors.request.use((config) => {
          throw new AxiosError(`no: ${String(config.headers['authorization'])}`, 'E', config);
        });
      } else {
        client.interceptors.response.use((response) => {
          throw new AxiosError(`no: ${ENGINE_KEY}`, 'E', response.config, null, response);
        });
      }
      const gateway = await withKeys({ options: { client } });
      for (const stream of [false, true]) {
        const reply = await gateway.post(CHAT, { messages: HI, stream }, AUTHORIZED);
        expect(reply.status).toBe(502);
        expect(reply.text).not.toContain('CANARY');
      }
      expect(await papers(gateway, 2)).not.toContain('CANARY');
      await until(() => gateway.fleet.engines.every(({ inFlight }) => inFlight === 0));
    },
  );

  it('sees refusals of an engine as answers, and they reach the client as ever', async () => {
    const client = axios.create();
    const seen: number[] = [];
    client.interceptors.response.use((response) => {
      seen.push(response.status);
      return response;
    });
    const gateway = await startGateway({ options: { client } });
    gateway.fleet.script = {
      leg: 'decode',
      status: 422,
      body: { error: { message: 'bad', type: 'X', code: 1 } },
    };
    const reply = await gateway.post(CHAT, { messages: HI });
    expect(reply.status).toBe(422);
    expect(reply.text).toContain('"message":"bad"');
    await gateway.rowsOf(1);
    expect(seen.slice(0, 2)).toEqual([200, 422]);
  });
});
