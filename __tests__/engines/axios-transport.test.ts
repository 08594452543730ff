/** Calls through a host's axios client, at exact moments. */
import axios, { type AxiosInstance } from 'axios';
import { AxiosTransport, createEngineClient } from '../../lib/engines/engine-client';
import type { EngineCall } from '../../lib/engines/transport';
import { closeLater } from '../helpers/close-all';
import {
  answer,
  Call,
  closed,
  OK,
  openEngine,
  openPools,
  type RawEngine,
  settled,
  type Turn,
  until,
} from './wire/raw-engine';

async function engineThat(onTurn: (turn: Turn) => void = ({ socket }) => void socket.write(answer('good'))) {
  return openEngine(onTurn);
}

function send(client: AxiosInstance, engine: RawEngine, call: Partial<EngineCall> = {}): Call {
  const transport = closeLater(new AxiosTransport(client, openPools()));
  const sink = new Call();
  const whole = {
    engine: engine.config,
    method: 'POST',
    path: '/v1/x',
    headers: {},
    body: Buffer.from('{}'),
  } as const;
  sink.control = transport.send({ ...whole, ...call }, sink);
  return sink;
}

/** An interceptor that holds what passes it until the test lets it go. */
function gate<T>(): {
  readonly hold: (value: T) => Promise<T>;
  readonly entered: Promise<void>;
  open(): void;
} {
  let open: () => void = () => undefined;
  let enter: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const entered = new Promise<void>((resolve) => {
    enter = resolve;
  });
  return {
    entered,
    open: () => open(),
    hold: async (value) => {
      enter();
      await opened;
      return value;
    },
  };
}

/** A call whose answer has begun and is held by an interceptor. */
async function heldAnswer() {
  const engine = await engineThat(({ socket }) => void socket.write(`${OK}content-length: 9\r\n\r\nhalf`));
  const client = axios.create();
  const response = gate<Parameters<Parameters<typeof client.interceptors.response.use>[0] & object>[0]>();
  client.interceptors.response.use(response.hold);
  const call = send(client, engine);
  await response.entered;
  return { engine, call, response };
}

describe('a client of the host', () => {
  it.each([
    ['its defaults for every method', (client: AxiosInstance) => client.defaults.headers.common],
    ['its defaults for POST', (client: AxiosInstance) => client.defaults.headers.post],
  ])('has headers sent that it has in %s', async (_words, group) => {
    const engine = await engineThat();
    const client = createEngineClient();
    Object.assign(group(client), { 'x-team': 'one' });
    expect((await send(client, engine).over).text).toBe('good');
    expect(engine.turns[0]!.head.toLowerCase()).toContain('x-team: one\r\n');
  });

  it.each([
    ['a list', (change: (data: unknown) => unknown) => [change]],
    ['one function', (change: (data: unknown) => unknown) => change],
  ])('may transform what is sent, with %s, in one piece', async (_words, form) => {
    const engine = await engineThat();
    const client = createEngineClient();
    const change = (data: unknown) => Buffer.concat([data as Buffer, Buffer.from('!')]);
    client.defaults.transformRequest = form(change) as never;
    const body = [Buffer.from('{"a"'), Buffer.from(':1}')];
    expect((await send(client, engine, { body }).over).text).toBe('good');
    expect(engine.turns[0]!.body.toString()).toBe('{"a":1}!');
  });

  it('without transforms of its own has its calls sent as they are', async () => {
    const engine = await engineThat();
    const client = createEngineClient();
    delete client.defaults.transformRequest;
    delete client.defaults.transformResponse;
    expect((await send(client, engine).over).text).toBe('good');
    expect(engine.turns[0]!.body.toString()).toBe('{}');
  });

  it('may change path, headers and body in an interceptor; a header without a value is not sent', async () => {
    const engine = await engineThat();
    const client = axios.create();
    client.interceptors.request.use((config) => {
      config.headers.set({ 'x-number': 5, 'x-none': null });
      return { ...config, url: '/v2/y', data: 'new' };
    });
    expect((await send(client, engine, { headers: { 'x-request-id': 'a' } }).over).text).toBe('good');
    const { head, body } = engine.turns[0]!;
    expect(head).toMatch(/^POST \/v2\/y HTTP\/1\.1\r\n/);
    expect(head.toLowerCase()).toContain('x-number: 5\r\n');
    expect(head.toLowerCase()).toContain('x-request-id: a\r\n');
    expect(head.toLowerCase()).not.toContain('x-none');
    expect(body.toString()).toBe('new');
  });

  it('may take body and path away: then there is no body, and the path is that of the call', async () => {
    const engine = await engineThat();
    const client = axios.create();
    client.interceptors.request.use((config) => {
      const { url: _url, data: _data, ...rest } = config;
      return rest as typeof config;
    });
    expect((await send(client, engine).over).text).toBe('good');
    expect(engine.turns[0]!.head).toMatch(/^POST \/v1\/x HTTP\/1\.1\r\n/);
    expect(engine.turns[0]!.body).toHaveLength(0);
  });

  it('has calls without a body carried too', async () => {
    const engine = await engineThat();
    const client = axios.create();
    client.interceptors.request.use((config) => config);
    const { text } = await send(client, engine, { method: 'GET', path: '/health', body: null }).over;
    expect([text, engine.turns[0]!.head.split('\r\n')[0]]).toEqual(['good', 'GET /health HTTP/1.1']);
  });
});

describe('a call that is cut while an interceptor holds it', () => {
  it('on its way out reaches no engine, and says nothing more', async () => {
    const engine = await engineThat();
    const client = axios.create();
    const request = gate<Parameters<Parameters<typeof client.interceptors.request.use>[0] & object>[0]>();
    client.interceptors.request.use(request.hold);
    const call = send(client, engine);
    await request.entered;
    call.control.pause();
    call.control.resume();
    call.control.cut();
    request.open();
    expect(await settled(call)).toEqual([]);
    expect(engine.sockets).toHaveLength(0);
  });

  it('on its way back loses its socket, and says nothing more', async () => {
    const { engine, call, response } = await heldAnswer();
    call.control.cut();
    await closed(engine.sockets[0]!);
    response.open();
    expect(await settled(call)).toEqual(['sent']);
  });

  it('in the middle of its answer, from within, hears none of what waited', async () => {
    const engine = await engineThat();
    const client = axios.create();
    client.interceptors.response.use((response) => response);
    const call = send(client, engine);
    call.during = (event) => {
      if (event === 'head') call.control.cut();
    };
    await until(() => call.events.includes('head'));
    expect(await settled(call)).toEqual(['sent', 'head']);
  });
});

describe('a call whose engine goes away', () => {
  it('before the answer fails with what happened', async () => {
    const engine = await engineThat(({ socket }) => void socket.destroy());
    const client = axios.create();
    client.interceptors.request.use((config) => config);
    const { events, error } = await send(client, engine).over;
    expect([events, error?.failure]).toEqual([['sent', 'fail'], 'connection']);
  });

  it('while an interceptor holds the answer fails behind its head', async () => {
    const { engine, call, response } = await heldAnswer();
    engine.sockets[0]!.destroy();
    response.open();
    const { events, status, error } = await call.over;
    expect([events.at(0), events.at(1), events.at(-1)]).toEqual(['sent', 'head', 'fail']);
    expect([status, error?.failure]).toEqual([200, 'connection']);
  });

  it('fails without the words of an interceptor that refused the call', async () => {
    const engine = await engineThat();
    const client = axios.create();
    client.interceptors.request.use(() => {
      throw new Error('CANARY');
    });
    const { error, events } = await send(client, engine).over;
    expect([events, error?.message]).toEqual([['fail'], 'an interceptor refused the call']);
    expect(engine.turns).toHaveLength(0);
  });
});
