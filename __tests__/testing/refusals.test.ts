import { type StubFleet, startStubFleet } from '../../lib/testing/index';
import { CHAT, COMPLETIONS, MESSAGES, nextId, PREFILL, post, send } from './client';

const TOOLS = [{ type: 'function', function: { name: 'find', parameters: {} } }];

describe('what the engine refuses', () => {
  let fleet: StubFleet;
  beforeAll(async () => {
    fleet = await startStubFleet({ both: 1, maxModelLen: 50 });
  });
  afterAll(() => fleet.close());

  const chat = (members: object): [string, object] => [CHAT, { messages: MESSAGES, ...members }];
  const text = (members: object): [string, object] => [COMPLETIONS, { prompt: 'hi', ...members }];
  const rows: [string, [string, object], number, object][] = [
    [
      'stream_options alone',
      chat({ stream_options: { include_usage: true } }),
      400,
      { type: 'Bad Request', param: 'stream_options' },
    ],
    ['min_tokens over the limit', chat({ min_tokens: 5, max_tokens: 4 }), 400, { param: 'min_tokens' }],
    ['min_tokens over the newer limit', chat({ min_tokens: 5, max_completion_tokens: 4 }), 400, {}],
    ['min_tokens over the default limit', text({ min_tokens: 17 }), 400, { type: 'BadRequestError' }],
    ['max_tokens 0', chat({ max_tokens: 0 }), 400, { param: 'max_tokens' }],
    ['max_completion_tokens 0', chat({ max_completion_tokens: 0, max_tokens: 9 }), 400, {}],
    ['max_tokens 1.5', text({ max_tokens: 1.5 }), 400, { type: 'Bad Request' }],
    ['another model', chat({ model: 'x' }), 404, { type: 'NotFoundError', param: 'model', code: 404 }],
    ['a model that is no text', chat({ model: 3 }), 400, { param: 'model' }],
    ['top_logprobs alone', chat({ top_logprobs: 2 }), 400, { param: 'top_logprobs' }],
    ['logprob_token_ids alone', chat({ logprob_token_ids: [1] }), 400, {}],
    ['prompt_logprobs in a stream', text({ prompt_logprobs: 1, stream: true }), 400, {}],
    ['kv_transfer_params as a list', text({ kv_transfer_params: [] }), 400, { param: 'kv_transfer_params' }],
    [
      'a forced call in one token',
      chat({ tools: TOOLS, tool_choice: 'required', max_tokens: 1 }),
      400,
      { type: 'BadRequestError' },
    ],
    [
      'a named call in one token',
      chat({ tools: TOOLS, tool_choice: { type: 'function', function: { name: 'find' } }, max_tokens: 1 }),
      400,
      {},
    ],
    ['a forced call without tools', chat({ tool_choice: 'required' }), 400, { param: 'tool_choice' }],
    [
      'a call of no tool',
      chat({ tools: TOOLS, tool_choice: { type: 'function', function: { name: 'no' } } }),
      400,
      {},
    ],
    ['chat without messages', [CHAT, { prompt: 'hi' }], 400, { param: 'messages' }],
    ['chat with no message', [CHAT, { messages: [] }], 400, {}],
    ['a message without a role', [CHAT, { messages: [{ content: 'x' }] }], 400, {}],
    ['no prompt', [COMPLETIONS, { messages: MESSAGES }], 400, { param: 'prompt' }],
    ['an empty prompt', text({ prompt: '' }), 400, {}],
    ['a prompt that is a number', text({ prompt: 5 }), 400, { param: 'prompt' }],
    ['stream that is a text', text({ stream: 'yes' }), 400, { param: 'stream' }],
    ['n 0', text({ n: 0 }), 400, { param: 'n' }],
    ['a streamed beam search', text({ use_beam_search: true, stream: true }), 400, {}],
    ['an empty cache_salt', text({ cache_salt: '' }), 400, { param: 'cache_salt' }],
    ['half a character', text({ prompt: 'a \ud83d' }), 500, { type: 'InternalServerError' }],
    ['a context that is too long', text({ prompt: 'a '.repeat(40), max_tokens: 20 }), 400, {}],
  ];

  it.each(rows)('%s', async (_name, [path, body], status, error) => {
    const reply = await post(fleet.engine('b0'), path, body);
    expect(reply.status).toBe(status);
    const envelope = JSON.parse(reply.text) as { error: Record<string, unknown> };
    expect(envelope.error).toMatchObject({ code: status, ...error });
    expect(Object.keys(envelope.error).sort()).toEqual(['code', 'message', 'param', 'type']);
  });

  it.each([
    ['null for every limit', chat({ max_tokens: null, max_completion_tokens: null, min_tokens: null })],
    ['empty stream_options', chat({ stream_options: {} })],
    ['limits of 1.0', text({ max_tokens: 1.0 })],
    ['echo with max_tokens 0', text({ max_tokens: 0, echo: true })],
    ['a free call in one token', chat({ tools: TOOLS, tool_choice: 'auto', max_tokens: 1 })],
    ['members it does not know', chat({ max_shells: 3 })],
  ])('takes %s', async (_name, [path, body]) => {
    expect((await post(fleet.engine('b0'), path, body)).status).toBe(200);
  });

  it.each(['{"messages":', '', '[1]', '{"a":NaN}'])('refuses the text %j as a body', async (body) => {
    const reply = await post(fleet.engine('b0'), CHAT, body);
    expect(reply.status).toBe(400);
    expect(JSON.parse(reply.text)).toMatchObject({ error: { type: 'Bad Request', code: 400 } });
  });

  it('refuses bytes that are not UTF-8', async () => {
    const body = Buffer.concat([Buffer.from('{"prompt":"'), Buffer.from([0xc3, 0x28]), Buffer.from('"}')]);
    const headers = { 'content-type': 'application/json', 'x-request-id': nextId() };
    const reply = await send(fleet.engine('b0').url + COMPLETIONS, { headers, body });
    expect(reply.status).toBe(400);
  });

  it.each(['text/plain', 'application/x-www-form-urlencoded', ''])(
    'refuses content type %j',
    async (type) => {
      const headers = { 'content-type': type };
      const reply = await post(fleet.engine('b0'), COMPLETIONS, { prompt: 'hi' }, { headers });
      expect([reply.status, JSON.parse(reply.text).error.type]).toEqual([400, 'Bad Request']);
    },
  );

  it('refuses a body without a content type, also to count its tokens', async () => {
    for (const path of [COMPLETIONS, '/tokenize']) {
      const headers = { 'x-request-id': nextId() };
      const reply = await send(fleet.engine('b0').url + path, { headers, body: '{"prompt":"hi"}' });
      expect([path, reply.status, JSON.parse(reply.text).error.type]).toEqual([path, 400, 'Bad Request']);
    }
  });

  it('takes a content type with parameters', async () => {
    const headers = { 'content-type': 'application/json; charset=utf-8' };
    expect((await post(fleet.engine('b0'), COMPLETIONS, { prompt: 'hi' }, { headers })).status).toBe(200);
  });

  it('refuses a path and a method it does not have', async () => {
    const { url } = fleet.engine('b0');
    expect((await send(`${url}/v1/other`, { method: 'GET' })).status).toBe(404);
    const wrong = await send(url + CHAT, { method: 'GET' });
    expect([wrong.status, JSON.parse(wrong.text).error.type]).toEqual([405, 'Method Not Allowed']);
  });

  it('notes no handoff for a prefill leg it refused', async () => {
    const body = { messages: MESSAGES, ...PREFILL, tools: TOOLS, tool_choice: 'required' };
    expect((await post(fleet.engine('p0'), CHAT, body)).status).toBe(400);
    expect(fleet.ledger.produced).toBe(0);
  });
});

describe('an engine with a key', () => {
  let fleet: StubFleet;
  beforeAll(async () => {
    fleet = await startStubFleet({ prefill: 0, decode: 0, both: 1, apiKey: 'Sesame' });
  });
  afterAll(() => fleet.close());

  it.each([undefined, 'Bearer sesame', 'Bearer  Sesame', 'Basic Sesame', 'Sesame'])(
    'refuses %j',
    async (key) => {
      const headers: Record<string, string> = key === undefined ? {} : { authorization: key };
      const reply = await post(fleet.engine('b0'), CHAT, { messages: MESSAGES }, { headers });
      expect([reply.status, reply.text]).toEqual([401, '{"error":"Unauthorized"}']);
      const models = await send(`${fleet.engine('b0').url}/v1/models`, { method: 'GET', headers });
      expect(models.status).toBe(401);
    },
  );

  it.each(['Bearer Sesame', 'bearer Sesame'])('takes %j', async (authorization) => {
    const headers = { authorization };
    const reply = await post(fleet.engine('b0'), CHAT, { messages: MESSAGES }, { headers });
    expect(reply.status).toBe(200);
  });

  it('leaves health and tokenize open', async () => {
    const { url } = fleet.engine('b0');
    expect((await send(`${url}/health`, { method: 'GET' })).status).toBe(200);
    expect((await post(fleet.engine('b0'), '/tokenize', { prompt: 'a b' })).status).toBe(200);
  });
});
