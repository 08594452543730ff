import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import axios, { AxiosError } from 'axios';
import express from 'express';
import { createFleet, narwhalRouter } from '../../lib/index';
import { call } from '../helpers/call';
import { closeLater } from '../helpers/close-all';
import { listen, startGateway as startWhole } from '../helpers/create-app';
import { AUTHORIZED, ENGINE_KEY, papers, withKeys } from './canaries';
import { CHAT, HI, startGateway, until } from './gateway';

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
