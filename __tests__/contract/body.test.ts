/** Reading the body: limit, encodings, UTF-8, duplicates, surrogates, keys of Object.prototype. */
import { request as open } from 'node:http';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { bodyFor, CHAT, CHAT_BODY, COMPLETIONS, call, envelopeOf, type Reply } from '../helpers/call';
import { type Gateway, startGateway } from '../helpers/create-app';

const LIMIT = 4000;

let gateway: Gateway;

beforeEach(async () => {
  gateway = await startGateway({ fleetFile: { serving: { max_request_bytes: LIMIT } } });
});

/** A good chat body of exactly this many bytes. */
function bodyOfSize(bytes: number): string {
  const text = (content: string): string =>
    JSON.stringify({ ...CHAT_BODY, messages: [{ role: 'user', content }] });
  return text('x'.repeat(bytes - text('').length));
}

/** The answer is this refusal, no engine was called, and there is one row that says the same. */
async function expectRefused(reply: Reply, status: number, reason: string, message: string): Promise<void> {
  expect([reply.status, envelopeOf(reply).message]).toEqual([status, message]);
  const type = status === 413 ? 'request_too_large' : 'invalid_request_error';
  expect(envelopeOf(reply)).toEqual({ message, type, param: null, code: null });
  expect(reply.headers['x-narwhal-reason']).toBe(reason);
  expect(gateway.fleet.calls).toEqual([]);
  const rows = await gateway.allRows();
  expect(rows).toHaveLength(1);
  expect(rows[0]).toMatchObject({ status, reason, terminal: 'invalid', rid: reply.headers['x-request-id'] });
}

const TOO_LARGE = `the request body is larger than ${LIMIT} bytes`;

describe('the limit', () => {
  it('takes a body of exactly the limit, with and without a content length', async () => {
    const body = bodyOfSize(LIMIT);
    expect((await call(gateway.url + CHAT, { body })).status).toBe(200);
    const chunks = [Buffer.from(body.slice(0, 1000)), Buffer.from(body.slice(1000))];
    expect((await call(gateway.url + CHAT, { body: chunks })).status).toBe(200);
  });

  it('refuses one byte more with 413, with a content length', async () => {
    const reply = await call(gateway.url + CHAT, { body: bodyOfSize(LIMIT + 1) });
    await expectRefused(reply, 413, 'too_large', TOO_LARGE);
  });

  it('refuses one byte more with 413, in chunks', async () => {
    const body = bodyOfSize(LIMIT + 1);
    const chunks = [Buffer.from(body.slice(0, LIMIT)), Buffer.from(body.slice(LIMIT))];
    const reply = await call(gateway.url + CHAT, { body: chunks });
    await expectRefused(reply, 413, 'too_large', TOO_LARGE);
  });

  it('lets a client that writes megabytes before it reads see the answer', async () => {
    const chunks = Array.from({ length: 40 }, () => Buffer.alloc(100_000, 'x'));
    const reply = await call(gateway.url + CHAT, { body: chunks });
    await expectRefused(reply, 413, 'too_large', TOO_LARGE);
  });

  it('counts inflated bytes', async () => {
    const bomb = gzipSync(bodyOfSize(1_000_000));
    expect(bomb.length).toBeLessThan(LIMIT);
    const reply = await call(gateway.url + CHAT, { body: bomb, headers: { 'content-encoding': 'gzip' } });
    await expectRefused(reply, 413, 'too_large', TOO_LARGE);
  });

  it('avoids the words by which clients take a 413 for a rate limit', async () => {
    const { text } = await call(gateway.url + CHAT, { body: bodyOfSize(LIMIT + 1) });
    expect(text).not.toMatch(/request too large|rate.?limit/i);
  });
});

describe('encodings', () => {
  const text = JSON.stringify({ ...CHAT_BODY, seed: 1 });

  it.each<[string, Buffer]>([
    ['gzip', gzipSync(text)],
    ['GZIP', gzipSync(text)],
    ['x-gzip', gzipSync(text)],
    ['deflate', deflateSync(text)],
    ['deflate', deflateRawSync(text)],
    ['br', brotliCompressSync(text)],
    ['identity', Buffer.from(text)],
  ])('inflates %s, and the engine gets plain JSON', async (encoding, body) => {
    const reply = await call(gateway.url + CHAT, { body, headers: { 'content-encoding': encoding } });
    expect(reply.status).toBe(200);
    for (const { json, headers } of gateway.fleet.calls) {
      expect(json?.['messages']).toEqual(CHAT_BODY.messages);
      expect(headers['content-encoding']).toBeUndefined();
    }
  });

  it.each(['zstd', 'compress', 'gzip, br', 'aws-chunked', '*'])('refuses %s with 415', async (encoding) => {
    const reply = await call(gateway.url + CHAT, { body: text, headers: { 'content-encoding': encoding } });
    const message = 'the content encoding is not supported: use gzip, deflate, br or none';
    await expectRefused(reply, 415, 'encoding', message);
  });

  it.each<[string, string, Buffer]>([
    ['plain text called gzip', 'gzip', Buffer.from(text)],
    ['gzip called br', 'br', gzipSync(text)],
    ['gzip cut short', 'gzip', gzipSync(text).subarray(0, -6)],
    ['gzip with more behind it', 'gzip', Buffer.concat([gzipSync(text), Buffer.from('more')])],
  ])('refuses %s with 400', async (_words, encoding, body) => {
    const reply = await call(gateway.url + CHAT, { body, headers: { 'content-encoding': encoding } });
    await expectRefused(reply, 400, 'encoding', 'the request body does not match its content encoding');
  });

  it.each([
    'text/plain',
    'application/octet-stream',
    'application/json; charset=utf-8',
    'multipart/form-data',
  ])('does not ask for the content type: %s', async (type) => {
    const reply = await call(gateway.url + CHAT, { body: text, headers: { 'content-type': type } });
    expect(reply.status).toBe(200);
  });
});

describe('text', () => {
  const post = (body: string | Buffer): Promise<Reply> => call(gateway.url + CHAT, { body });
  const NOT_JSON = 'the request body is not valid JSON';

  it.each([
    ['nothing', ''],
    ['blanks', '  \n'],
    ['half an object', '{"messages":[{"role":"user","content":"PROMPTCANARY'],
    ['a trailing comma', '{"messages":[],}'],
    ['two values', '{} {}'],
    ['single quotes', "{'a':1}"],
    ['NaN', '{"a":NaN}'],
    ['a control character in a string', '{"a":"\u0001"}'],
    ['a comment', '{} // x'],
  ])('refuses %s as no JSON, without repeating it', async (_words, body) => {
    const reply = await post(body);
    expect(reply.text).not.toContain('PROMPTCANARY');
    await expectRefused(reply, 400, 'json', NOT_JSON);
    expect(gateway.logger.text + JSON.stringify(gateway.journal.rows)).not.toContain('PROMPTCANARY');
  });

  it.each(['[]', '[{}]', '"text"', '1', 'true', 'null'])('refuses %s as no object', async (body) => {
    await expectRefused(await post(body), 400, 'body_shape', 'the request body must be a JSON object');
  });

  it('refuses bytes that are not UTF-8, wherever they stand', async () => {
    const begin = Buffer.from('{"messages":[{"role":"user","content":"');
    const reply = await post(Buffer.concat([begin, Buffer.from([0xff, 0xfe]), Buffer.from('"}]}')]));
    await expectRefused(reply, 400, 'encoding', 'the request body is not valid UTF-8');
  });

  it('refuses UTF-16 and half a character', async () => {
    const wide = await post(Buffer.from(JSON.stringify(CHAT_BODY), 'utf16le'));
    expect(wide.status).toBe(400);
    const half = Buffer.from(JSON.stringify({ ...CHAT_BODY, user: '\u20ac' }));
    const at = half.indexOf(0xe2);
    const cut = await post(Buffer.concat([half.subarray(0, at + 1), half.subarray(at + 3)]));
    expect(cut.headers['x-narwhal-reason']).toBe('encoding');
    expect(gateway.fleet.calls).toEqual([]);
  });

  it.each([
    ['twice', '{"model":"example/model","model":"other","messages":[{}]}'],
    ['twice with equal values', '{"stream":false,"stream":false,"messages":[{}]}'],
    ['once plain, once escaped', '{"model":"example/model","mod\\u0065l":"other","messages":[{}]}'],
    ['that the router drops twice', '{"rid":1,"rid":2,"messages":[{}]}'],
    ['named __proto__ twice', '{"__proto__":1,"__proto__":2,"messages":[{}]}'],
  ])('refuses a top-level key %s', async (_words, body) => {
    const message = 'the request body must not repeat a top-level key';
    await expectRefused(await post(body), 400, 'body_shape', message);
  });

  it('lets a key that is repeated deeper pass as it is', async () => {
    const tool = '{"type":"function","function":{"name":"f","x":1,"x":2}}';
    const reply = await post(`{"messages":[{"role":"user","content":"hi"}],"tools":[${tool}]}`);
    expect(reply.status).toBe(200);
    for (const { body } of gateway.fleet.calls) expect(body.toString()).toContain(tool);
  });

  it.each(['"emoji \\ud83d"', '"\\udcf0"', '"\\udc00\\ud800"', '"\\ud83d x \\ude00"', '"\\uD83D\\\\ude00"'])(
    'refuses half a surrogate pair on both routes: %s',
    async (value) => {
      const message = 'the request body must not contain unpaired surrogate escapes';
      const chat = await post(`{"messages":[{"role":"user","content":${value}}]}`);
      expect([chat.status, envelopeOf(chat).message]).toEqual([400, message]);
      const key = await post(`{"messages":[{"role":"user","content":"hi"}],"metadata":{${value}:1}}`);
      expect([key.status, envelopeOf(key).message]).toEqual([400, message]);
      const prompt = await call(gateway.url + COMPLETIONS, { body: `{"prompt":${value}}` });
      expect([prompt.status, envelopeOf(prompt).message]).toEqual([400, message]);
      expect(gateway.fleet.calls).toEqual([]);
      expect((await gateway.allRows()).map(({ reason }) => reason)).toEqual(['json', 'json', 'json']);
    },
  );

  it.each(['"\\ud83d\\ude00"', '"\u{1f600}"', '"\\\\ud83d"', '"\\u0000"', '"\ufffd"'])(
    'passes whole characters on as they were written: %s',
    async (value) => {
      expect((await post(`{"messages":[{"role":"user","content":${value}}]}`)).status).toBe(200);
      for (const { body } of gateway.fleet.calls) expect(body.toString()).toContain(`"content":${value}`);
    },
  );

  it('takes a byte order mark off', async () => {
    const marked = Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(JSON.stringify(CHAT_BODY))]);
    expect((await post(marked)).status).toBe(200);
    for (const { body } of gateway.fleet.calls) expect(body[0]).toBe(0x7b);
  });

  it('reads own keys only, and leaves Object.prototype alone', async () => {
    const poison = '"__proto__":{"isAdmin":true,"n":3,"stream":"x"}';
    const body = `{${poison},"constructor":{"prototype":{"n":3}},"messages":[{${poison},"role":"user","content":"hi"}]}`;
    expect((await post(body)).status).toBe(200);
    const bare = {} as Record<string, unknown>;
    expect([bare['isAdmin'], bare['n'], bare['stream']]).toEqual([undefined, undefined, undefined]);
    const missing = await post('{"__proto__":{"messages":[{"role":"user"}]}}');
    expect([missing.status, envelopeOf(missing).param]).toEqual([400, 'messages']);
    expect(gateway.fleet.calls).toHaveLength(2);
  });

  it('takes a body that nests deep', async () => {
    const depth = 1500;
    const metadata = `${'['.repeat(depth)}${']'.repeat(depth)}`;
    const reply = await post(`{"messages":[{"role":"user","content":"hi"}],"metadata":${metadata}}`);
    expect(reply.status).toBe(200);
    for (const { body } of gateway.fleet.calls) expect(body.toString()).toContain(metadata);
  });

  it('passes an explicit max_tokens null as no limit of the client', async () => {
    const reply = await call(gateway.url + COMPLETIONS, { body: bodyFor(COMPLETIONS, { max_tokens: null }) });
    expect(reply.status).toBe(200);
    const [prefill, decode] = gateway.fleet.calls;
    expect(prefill?.json?.['max_tokens']).toBe(1);
    expect(decode?.json?.['max_tokens'] ?? null).toBeNull();
  });
});

it('writes one row for a client that leaves during its upload', async () => {
  const arrived = new Promise<void>((resolve) => gateway.server.once('request', () => resolve()));
  const req = open(gateway.url + CHAT, { method: 'POST', headers: { 'content-length': 1000 }, agent: false });
  req.on('error', () => undefined);
  req.write('{"messages":');
  await arrived;
  req.destroy();
  await gateway.journal.waitForRows(1);
  expect(gateway.fleet.calls).toEqual([]);
  expect(await gateway.allRows()).toMatchObject([
    { status: 499, terminal: 'cancelled', reason: 'client_closed', cancelled_phase: 'upload', stream: null },
  ]);
});
