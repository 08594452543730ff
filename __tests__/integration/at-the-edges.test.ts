import http from 'node:http';
import { CHAT, COMPLETIONS, errorOf, HI, startGateway } from './gateway';

describe('what a stranger tries', () => {
  it.each([[['a', 1]], [[1, 'a']], [['a', 1, null]], [[[1], {}]]])(
    'refuses prompts mixed with other things: %j',
    async (prompt) => {
      const gateway = await startGateway();
      const reply = await gateway.post(COMPLETIONS, { prompt });
      expect(reply.status).toBe(400);
      expect(errorOf(reply)).toMatchObject({ param: 'prompt', type: 'invalid_request_error' });
      expect(gateway.legs).toEqual([]);
    },
  );

  it('keeps an engine in placement whose answers only cannot be put together', async () => {
    const gateway = await startGateway({ stub: { decode: 2 }, file: { serving: { max_attempts: 1 } } });
    const choice = { index: 1, text: 'x', logprobs: null, finish_reason: 'stop' };
    gateway.fleet.script = { leg: 'decode', rawFrames: [JSON.stringify({ id: 'c', choices: [choice] })] };
    for (let i = 0; i < 8; i++) expect((await gateway.post(COMPLETIONS, { prompt: 'a' })).status).toBe(502);
    expect(gateway.router.state().engines.map(({ state }) => state)).toEqual(['live', 'live', 'live']);
  });

  it('logs what a hook of the host threw, once, with the request id', async () => {
    const gateway = await startGateway({
      options: {
        authenticate: () => {
          throw new Error('the key store is down');
        },
      },
    });
    const reply = await gateway.post(CHAT, { messages: HI });
    expect(reply.status).toBe(500);
    expect(reply.text).not.toContain('key store');
    const { rid } = await gateway.row();
    expect(gateway.logText.match(/the key store is down/g)?.length).toBeGreaterThan(0);
    expect(gateway.logText).toContain(rid);
    const models = await fetch(`${gateway.url}/v1/models`);
    expect(models.status).toBe(500);
    expect(gateway.logText).toContain('an inspection route failed');
  });

  it('ends an upload that outlasts the request deadline', async () => {
    const gateway = await startGateway({ file: { serving: { request_timeout_s: 0.3 } } });
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const { port } = new URL(gateway.url);
      const headers = { 'content-length': 1000 };
      const request = http.request({ host: '127.0.0.1', port, method: 'POST', path: CHAT, headers });
      request.on('response', (response) => {
        response.resume();
        resolve(response.statusCode);
        request.destroy();
      });
      request.on('error', reject);
      request.write('{"messages":');
    });
    expect(status).toBe(504);
    expect(await gateway.row()).toMatchObject({ terminal: 'expired', reason: 'deadline', status: 504 });
  });

  it('warns where apiKeys is given but undefined', async () => {
    const gateway = await startGateway({ options: { apiKeys: undefined } });
    expect(gateway.logText).toContain('apiKeys is undefined');
  });

  it('shows private pages to no web page, whatever name was pointed at this machine', async () => {
    const gateway = await startGateway();
    const status = (headers: Record<string, string>) =>
      new Promise<number | undefined>((resolve, reject) => {
        const { port } = new URL(gateway.url);
        http
          .get({ host: '127.0.0.1', port, path: '/narwhal/state', headers }, (response) => {
            response.resume();
            resolve(response.statusCode);
          })
          .on('error', reject);
      });
    expect(await status({})).toBe(200);
    expect(await status({ host: 'localhost:9090' })).toBe(200);
    expect(await status({ host: 'evil.example' })).toBe(404);
    expect(await status({ 'sec-fetch-site': 'cross-site' })).toBe(404);
    expect(await status({ 'cf-connecting-ip': '192.0.2.1' })).toBe(404);
  });
});
