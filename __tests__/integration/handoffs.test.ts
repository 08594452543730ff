import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CHAT, COMPLETIONS, HI, type Setup, startGateway } from './gateway';

const ONCE: Setup['file'] = { serving: { max_attempts: 1 } };
const BODY = { messages: HI };

describe('a handoff', () => {
  it('is taken from choices[0] where the engine put it there, as text', async () => {
    const gateway = await startGateway();
    gateway.fleet.script = { leg: 'prefill', handoffInChoice: true };
    expect((await gateway.post(CHAT, BODY)).status).toBe(200);
    const [prefill, decode] = gateway.legs;
    expect(prefill?.handoff).toContain('1152921504606846977');
    expect(decode?.body.toString('utf8')).toContain(`"kv_transfer_params":${prefill?.handoff}`);
  });

  it('is used although the one token of the prefill was the end of the text', async () => {
    const gateway = await startGateway();
    gateway.fleet.script = { leg: 'prefill', generation: { content: [''], finishReason: 'stop' } };
    expect((await gateway.post(CHAT, BODY)).status).toBe(200);
    expect(gateway.fleet.ledger).toMatchObject({ produced: 1, claimed: 1 });
  });

  it('is always the one of the request itself, also when the engine behind the address has changed', async () => {
    const gateway = await startGateway();
    const engine = gateway.fleet.engine('p0');
    const ids: string[] = [];
    for (const _round of [1, 2]) {
      for (const body of [BODY, { ...BODY, stream: true }]) {
        expect((await gateway.post(CHAT, body)).status).toBe(200);
        ids.push(engine.engineId);
      }
      await engine.stop();
      await engine.start();
    }
    const sent = gateway.legsAt('d0').map(({ json }) => json?.['kv_transfer_params']);
    expect(sent).toMatchObject(ids.map((id) => ({ remote_engine_id: id })));
    expect(new Set(ids).size).toBe(2);
  });
});

describe('an engine address', () => {
  it.each([
    ['IPv6', { host: '::1' }],
    ['a path prefix', { prefix: '/engines/a' }],
    ['IPv6 with a path prefix', { host: '::1', prefix: '/v2' }],
  ] as const)('with %s works on both legs', async (_name, stub) => {
    const gateway = await startGateway({ stub });
    for (const [path, body] of [
      [CHAT, BODY],
      [COMPLETIONS, { prompt: 'hi', stream: true }],
    ] as const) {
      expect((await gateway.post(path, body)).status).toBe(200);
    }
    expect(gateway.legs.map(({ leg, path }) => [leg, path])).toEqual([
      ['prefill', CHAT],
      ['decode', CHAT],
      ['prefill', COMPLETIONS],
      ['decode', COMPLETIONS],
    ]);
  });
});

describe('a pooled socket that the engine has closed', () => {
  it('is no failure: the call is made again on a new one, unseen', async () => {
    const gateway = await startGateway({ stub: { keepAliveTimeoutMs: 50 } });
    for (let pair = 0; pair < 60; pair++) {
      await gateway.post(CHAT, BODY);
      await new Promise((resolve) => setTimeout(resolve, 45 + (pair % 16)));
      const reply = await gateway.post(CHAT, BODY);
      expect(reply.status).toBe(200);
    }
    for (const row of await gateway.rowsOf(120)) {
      expect(row).toMatchObject({ terminal: 'completed', attempts: 1, attempt_failures: [] });
    }
  });
});

describe('a redirect of an engine', () => {
  it.each(['prefill', 'decode'] as const)('of the %s leg is not followed', async (leg) => {
    const seen: string[] = [];
    const other = createServer((req, res) => {
      seen.push(req.url ?? '');
      res.end('{}');
    });
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const { port } = other.address() as AddressInfo;
    const gateway = await startGateway({ file: ONCE });
    gateway.fleet.script = { leg, redirect: `http://127.0.0.1:${port}${CHAT}` };
    const reply = await gateway.post(CHAT, BODY);
    expect(reply.status).toBe(502);
    expect(reply.headers['location']).toBeUndefined();
    expect(reply.text).not.toContain(String(port));
    expect(seen).toEqual([]);
    await new Promise((resolve) => other.close(resolve));
  });
});
