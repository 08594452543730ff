import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import axios from 'axios';
import { COMPLETIONS, errorOf, startGateway } from './gateway';

const TEXT = '{"prompt":"caf\\u00e9 \u4f60","seed":990000000262240065,"temperature":1.0}';

describe('a compressed body', () => {
  it.each([
    ['gzip', gzipSync(TEXT)],
    ['x-gzip', gzipSync(TEXT)],
    ['GZIP', gzipSync(TEXT)],
    ['deflate', deflateSync(TEXT)],
    ['deflate', deflateRawSync(TEXT)],
    ['br', brotliCompressSync(TEXT)],
    ['identity', Buffer.from(TEXT)],
  ])('reaches both legs inflated, byte for byte: %s', async (encoding, body) => {
    const gateway = await startGateway();
    const reply = await gateway.post(COMPLETIONS, body, { 'content-encoding': encoding });
    expect(reply.status).toBe(200);
    expect(gateway.legs).toHaveLength(2);
    for (const leg of gateway.legs) {
      expect(leg.body.toString('utf8')).toContain(`${TEXT.slice(0, -1)},"model"`);
      expect(leg.headers['content-encoding']).toBeUndefined();
    }
  });

  const LIMIT = { serving: { max_request_bytes: 20_000 } };
  const BOMB = Buffer.from(`{"prompt":"${'x'.repeat(30_000)}"}`);

  it.each([
    ['gzip', gzipSync(BOMB)],
    ['deflate', deflateSync(BOMB)],
    ['br', brotliCompressSync(BOMB)],
  ])('that inflates above the limit is 413: %s', async (encoding, body) => {
    const gateway = await startGateway({ file: LIMIT });
    expect(body.length).toBeLessThan(1000);
    const reply = await gateway.post(COMPLETIONS, body, { 'content-encoding': encoding });
    expect(reply.status).toBe(413);
    expect(errorOf(reply)).toMatchObject({ type: 'request_too_large', code: null });
    expect(gateway.legs).toEqual([]);
    expect(await gateway.row()).toMatchObject({ terminal: 'invalid', reason: 'too_large', status: 413 });
  });

  it.each([
    ['text under the name of gzip', 'gzip', Buffer.from(TEXT), 400],
    ['gzip under the name of br', 'br', gzipSync(TEXT), 400],
    ['a gzip that is cut', 'gzip', gzipSync(TEXT).subarray(0, -9), 400],
    ['gzip that nobody named', 'identity', gzipSync(TEXT), 400],
    ['an unknown encoding', 'zstd', Buffer.from(TEXT), 415],
    ['two encodings', 'gzip, br', gzipSync(TEXT), 415],
  ])('is refused where its header lies or is unknown: %s', async (_name, encoding, body, status) => {
    const gateway = await startGateway();
    const reply = await gateway.post(COMPLETIONS, body, { 'content-encoding': encoding });
    expect(reply.status).toBe(status);
    expect(errorOf(reply)).toMatchObject({ type: 'invalid_request_error' });
    expect(gateway.legs).toEqual([]);
    expect(await gateway.row()).toMatchObject({ terminal: 'invalid', status });
  });
});

describe('a large body', () => {
  it.each([false, true])('of 12 MB reaches both legs whole (through axios: %s)', async (throughAxios) => {
    const client = axios.create();
    if (throughAxios) client.interceptors.request.use((config) => config);
    const file = { serving: { max_request_bytes: 32 * 1024 * 1024 } };
    const gateway = await startGateway({ file, options: { client } });
    // Not in the prompt: the stub engines would count its tokens, letter by letter.
    const text = `{"user":"${'\u00e9 word '.repeat(1_600_000)}","prompt":"hi","top_k":1.0}`;
    const reply = await gateway.post(COMPLETIONS, text);
    expect(reply.status).toBe(200);
    const whole = Buffer.from(text.slice(0, -1));
    expect(whole.length).toBeGreaterThan(12e6);
    expect(gateway.legs.map(({ body }) => body.subarray(0, whole.length).equals(whole))).toEqual([
      true,
      true,
    ]);
  });
});
