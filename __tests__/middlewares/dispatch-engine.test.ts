import express5 from 'express';
import request from 'supertest';
import {
  ConfigError,
  createFleet,
  type DispatchEngineOptions,
  dispatchEngine,
  type Fleet,
  narwhalErrorHandler,
  narwhalRouter,
} from '../../lib/index';
import { type StubFleet, startStubFleet } from '../../lib/testing/index';
import { appOf, keepErrors, type Mountable, refusalOf, thrownBy } from '../helpers/alone';
import { bodyFor, CHAT, CHAT_BODY, COMPLETION_BODY, COMPLETIONS } from '../helpers/call';
import { captureLogger } from '../helpers/capture-logger';
import { closeLater } from '../helpers/close-all';
import { EXPRESS_VERSIONS } from '../helpers/create-app';
import { parseSse, textOf } from '../helpers/parse-sse';

let stub: StubFleet;
let fleet: Fleet;

beforeEach(async () => {
  stub = closeLater(await startStubFleet());
  closeLater({ close: () => stub.assertNoBreaches() });
  fleet = closeLater(createFleet(stub.fleetFile({ serving: { max_attempts: 1, max_request_bytes: 2000 } })));
});

function app(
  options: Partial<DispatchEngineOptions> = {},
  before: Mountable[] = [],
  after: Mountable[] = [],
) {
  return appOf([...before, dispatchEngine({ fleet, ...options }), ...after]);
}

function legs(): string[] {
  return stub.calls.filter(({ leg }) => leg === 'prefill' || leg === 'decode').map(({ leg }) => leg);
}

describe('the options of dispatchEngine', () => {
  it.each([
    undefined,
    {},
    { fleet: undefined },
    { fleet: null },
    { fleet: './fleet.json' },
    { fleet: { model: 'm', engines: [] } },
  ])('need a fleet: %j is refused at once, with what to do', (options) => {
    const error = thrownBy(() => dispatchEngine(options as unknown as DispatchEngineOptions));
    expect(error).toBeInstanceOf(ConfigError);
    expect(error?.message).toBe(
      'dispatchEngine: fleet is missing; make one with createFleet(config) or loadFleet(path)',
    );
  });

  it.each([
    [{ onError: 'x' }, 'dispatchEngine: onError must be one of answer, next'],
    [{ onEror: 'next' }, 'dispatchEngine: unknown option onEror (did you mean onError?)'],
    [{ logger: {} }, 'dispatchEngine: logger must have the functions debug, info, warn and error'],
    [{ logger: null }, 'dispatchEngine: logger must have the functions debug, info, warn and error'],
  ])('are checked at once: %j', (options, message) => {
    const all = { fleet, ...options } as unknown as DispatchEngineOptions;
    expect(thrownBy(() => dispatchEngine(all))?.message).toBe(message);
  });
});

describe('dispatchEngine', () => {
  it.each([
    [CHAT, 'chat.completion'],
    [COMPLETIONS, 'text_completion'],
  ])('serves %s in two legs without any other middleware', async (path, object) => {
    const response = await request(app()).post(path).send(bodyFor(path));
    expect(response.status).toBe(200);
    expect(response.body).toMatchObject({ object });
    expect(response.headers['x-request-id']).toMatch(/^[\w-]{10,}$/);
    expect(legs()).toEqual(['prefill', 'decode']);
    const id = response.headers['x-request-id'];
    expect(stub.calls.map(({ requestId }) => requestId)).toEqual([`${id}-a1-prefill`, `${id}-a1-decode`]);
  });

  it('streams', async () => {
    const response = await request(app())
      .post(CHAT)
      .send({ ...CHAT_BODY, stream: true });
    expect(response.headers['content-type']).toBe('text/event-stream; charset=utf-8');
    const stream = parseSse(response.text);
    expect(stream.done).toBe(true);
    expect(textOf(stream)).not.toBe('');
  });

  it.each([
    ['/', CHAT_BODY, CHAT],
    ['/', COMPLETION_BODY, COMPLETIONS],
    ['/llm/generate', CHAT_BODY, CHAT],
    ['/llm/v1/completions', COMPLETION_BODY, COMPLETIONS],
  ])('tells the route by the body under a path of the host: %s', async (path, body, enginePath) => {
    const host = express5();
    host.use(path, dispatchEngine({ fleet }) as express5.RequestHandler);
    expect((await request(host).post(path).send(body)).status).toBe(200);
    expect(stub.calls.map((call) => call.path)).toEqual([enginePath, enginePath]);
  });

  it.each<[string, Mountable]>([
    ['json', express5.json()],
    ['json with rawBody', express5.json({ verify: narwhalRouter.rawBody })],
    ['raw', express5.raw({ type: () => true })],
    ['text', express5.text({ type: () => true })],
  ])('takes the body from %s of the host', async (_words, parser) => {
    const response = await request(app({}, [parser]))
      .post(CHAT)
      .send(CHAT_BODY);
    expect(response.status).toBe(200);
    expect(stub.calls[1]?.json).toMatchObject(CHAT_BODY);
  });

  it('sends no header, no query string and no credential of the client to an engine', async () => {
    await request(app())
      .post(`${CHAT}?key=CANARY`)
      .set({
        authorization: 'Bearer CANARY',
        cookie: 'CANARY',
        'x-other': 'CANARY',
        traceparent: '00-aa-bb-01',
      })
      .send(CHAT_BODY);
    expect(legs()).toEqual(['prefill', 'decode']);
    for (const { rawHeaders, query, headers } of stub.calls) {
      expect(JSON.stringify(rawHeaders)).not.toContain('CANARY');
      expect(query).toBe('');
      expect(headers['traceparent']).toBe('00-aa-bb-01');
    }
  });

  it.each([
    ['no JSON', '{"a', 400, 'json'],
    ['a list', '[]', 400, 'body_shape'],
    ['no prompt', '{}', 400, 'required_field'],
    ['a reserved argument', '{"vllm_xargs":{"ec_transfer_params":1},"messages":[{}]}', 400, 'reserved_field'],
    ['too large a body', JSON.stringify({ prompt: 'x'.repeat(2000) }), 413, 'too_large'],
  ])('refuses %s by itself, and no engine is called', async (_words, text, status, reason) => {
    refusalOf(await request(app()).post(CHAT).type('json').send(text), status, reason);
    expect(stub.calls).toEqual([]);
  });

  it('hands on an error before the answer with onError next', async () => {
    stub.script = { leg: 'prefill', status: 500 };
    const { errors, handler } = keepErrors();
    const response = await request(app({ onError: 'next' }, [], [handler]))
      .post(CHAT)
      .send(CHAT_BODY);
    expect(response.status).toBe(418);
    expect(errors).toMatchObject([{ status: 502, type: 'prefill', code: 'prefill', reason: 'engine_error' }]);
  });

  it('has the same answer from narwhalErrorHandler as by itself', async () => {
    stub.script = { leg: 'prefill', status: 500 };
    const own = await request(app()).post(CHAT).send(CHAT_BODY);
    const handled = await request(app({ onError: 'next' }, [], [narwhalErrorHandler()]))
      .post(CHAT)
      .send(CHAT_BODY);
    refusalOf(own, 502, 'engine_error');
    refusalOf(handled, 502, 'engine_error');
    expect(handled.body).toEqual(own.body);
  });

  it.each(EXPRESS_VERSIONS)(
    'has the right status from the final handler of Express %s',
    async (_v, express) => {
      const host = appOf([dispatchEngine({ fleet, onError: 'next' })], express);
      const response = await request(host).post(CHAT).send({});
      expect(response.status).toBe(400);
      expect(stub.calls).toEqual([]);
    },
  );

  it('never calls next after its answer began, not even with onError next', async () => {
    stub.script = { leg: 'decode', resetAfterFrames: 4 };
    const { errors, handler } = keepErrors();
    const response = await request(app({ onError: 'next' }, [], [handler]))
      .post(CHAT)
      .send({ ...CHAT_BODY, stream: true });
    expect(response.status).toBe(200);
    const { frames, done } = parseSse(response.text);
    expect(done).toBe(false);
    expect(frames.at(-1)).toMatchObject({ error: { type: 'decode', param: null, code: 'failed' } });
    expect(errors).toEqual([]);
  });

  it('tells its logger of faults, without text or addresses for the client', async () => {
    const logger = captureLogger();
    stub.script = { leg: 'prefill', status: 401 };
    const response = await request(app({ logger })).post(CHAT).send(CHAT_BODY);
    refusalOf(response, 502, 'engine_auth');
    expect(logger.lines.map(({ level }) => level)).toContain('error');
    expect(logger.text).not.toContain('Say hello');
    expect(response.text).not.toContain('127.0.0.1');
  });

  it("leaves its fleet open: closing it stays the caller's", async () => {
    for (let n = 0; n < 2; n++) {
      expect((await request(app()).post(CHAT).send(CHAT_BODY)).status).toBe(200);
    }
  });
});
