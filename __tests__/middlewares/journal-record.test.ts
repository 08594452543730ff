import { once } from 'node:events';
import { type IncomingMessage, request as open } from 'node:http';
import type { RequestHandler } from 'express';
import request from 'supertest';
import {
  authStrip,
  ConfigError,
  createJournal,
  type Journal,
  type JournalRecordOptions,
  journalRecord,
  modelGuard,
  narwhalErrorHandler,
  validateCompletion,
} from '../../lib/index';
import { appOf, type Mountable, thrownBy } from '../helpers/alone';
import { type CapturedJournal, captureJournal } from '../helpers/capture-journal';
import { captureLogger } from '../helpers/capture-logger';
import { EXPRESS_VERSIONS, listen } from '../helpers/create-app';

let sink: CapturedJournal;
let journal: Journal;

beforeEach(() => {
  sink = captureJournal();
  journal = createJournal(sink);
});

function app(...handlers: Mountable[]) {
  return appOf([journalRecord({ journal }), ...handlers]);
}

function answering(status: number): RequestHandler {
  return (_req, res) => {
    res.status(status).json({});
  };
}

describe('the options of journalRecord', () => {
  it.each([
    undefined,
    {},
    { journal: undefined },
    { journal: null },
    { journal: 'rows.jsonl' },
    { journal: { write: () => undefined, close: () => undefined } },
    { journal: false },
  ])('need a journal: %j is refused at once, with what to do', (options) => {
    const error = thrownBy(() => journalRecord(options as unknown as JournalRecordOptions));
    expect(error).toBeInstanceOf(ConfigError);
    expect(error?.message).toBe(
      "journalRecord: journal is missing; make one with createJournal('journal.jsonl')",
    );
  });

  it('name the right key of a misspelt one', () => {
    const options = { jurnal: journal } as unknown as JournalRecordOptions;
    expect(thrownBy(() => journalRecord(options))?.message).toBe(
      'journalRecord: unknown option jurnal (did you mean journal?)',
    );
  });
});

describe('journalRecord', () => {
  it('writes one row with every field, null where it does not apply', async () => {
    const response = await request(app()).post('/api/v1/completions/?q=CANARY').set('x-request-id', 'mine');
    const row = await sink.firstRow();
    expect(row).toEqual({
      run: journal.run,
      rid: response.headers['x-request-id'],
      client_rid: 'mine',
      tenant: null,
      route: '/api/v1/completions',
      stream: null,
      at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      arrived: expect.any(Number),
      input_len: null,
      output_len: null,
      wanted_len: null,
      ttft_s: null,
      first_byte_s: null,
      tpot_s: null,
      queue_wait_s: null,
      price_s: null,
      shadow: null,
      duration_s: expect.any(Number),
      prefill_iid: null,
      decode_iid: null,
      crossed: null,
      terminal: 'completed',
      reason: null,
      cancelled_phase: null,
      status: 200,
      attempts: 0,
      decode_attempts: 0,
      attempt_failures: [],
      kv: null,
      parts: null,
      finish_reason: null,
      error: null,
    });
  });

  it('keeps the tenant and the stream flag that the middlewares behind it found', async () => {
    const host = app(authStrip({ authenticate: () => ({ tenant: 'red' }) }), validateCompletion());
    await request(host).post('/').send({ prompt: 'hi', stream: true });
    expect(await sink.firstRow()).toMatchObject({ tenant: 'red', stream: true, terminal: 'completed' });
  });

  it.each([
    [200, 'completed', null],
    [204, 'completed', null],
    [302, 'completed', null],
    [400, 'invalid', 'body_shape'],
    [401, 'rejected', 'unauthenticated'],
    [404, 'invalid', 'model'],
    [405, 'invalid', 'method'],
    [413, 'invalid', 'too_large'],
    [415, 'invalid', 'encoding'],
    [422, 'invalid', 'body_shape'],
    [429, 'rejected', 'tenant_limit'],
    [500, 'failed', 'internal'],
    [502, 'failed', 'internal'],
    [503, 'rejected', 'shutting_down'],
  ])('records a handler of the host by its status %i', async (status, terminal, reason) => {
    await request(app(answering(status))).post('/');
    const told = `the host answered ${status} by itself; the reason is inferred from the status`;
    const error = reason === null ? null : told;
    expect(await sink.firstRow()).toMatchObject({ status, terminal, reason, error });
  });

  it('records the reason of a refusal behind it', async () => {
    await request(app(modelGuard({ models: ['m1'] })))
      .post('/')
      .send({ model: 'other' });
    expect(await sink.firstRow()).toMatchObject({
      status: 404,
      terminal: 'invalid',
      reason: 'model',
      error: 'the model does not exist or is not served here',
    });
  });

  it('records the status that the host chose for an error of ours', async () => {
    const teapot: Mountable = ((
      _error: unknown,
      _req: unknown,
      res: { status(code: number): { end(): void } },
      _next: unknown,
    ) => res.status(418).end()) as never;
    await request(app(modelGuard({ models: ['m1'], onError: 'next' }), teapot))
      .post('/')
      .send({ model: 'other' });
    expect(await sink.firstRow()).toMatchObject({ status: 418, terminal: 'invalid', reason: 'model' });
  });

  describe.each(EXPRESS_VERSIONS)('on Express %s', (_version, express) => {
    it('records a handler that throws as 500, with the status that was sent', async () => {
      const fail: RequestHandler = () => {
        throw new Error('HOSTSECRET');
      };
      const host = appOf([journalRecord({ journal }), fail], express);
      expect((await request(host).post('/')).status).toBe(500);
      const row = await sink.firstRow();
      expect(row).toMatchObject({ status: 500, terminal: 'failed', reason: 'internal' });
    });

    it('records the same where narwhalErrorHandler answers', async () => {
      const fail: RequestHandler = () => {
        throw new Error('boom');
      };
      const host = appOf([journalRecord({ journal }), fail, narwhalErrorHandler()], express);
      const response = await request(host).post('/');
      expect(response.headers['x-narwhal-reason']).toBe('internal');
      expect(await sink.firstRow()).toMatchObject({ status: 500, terminal: 'failed', reason: 'internal' });
    });

    it('records a client that leaves while its body is parsed by the host as cancelled', async () => {
      const host = appOf([journalRecord({ journal }), express.json(), narwhalErrorHandler()], express);
      const { url, server } = await listen(host);
      const arrived = once(server, 'request');
      const req = open(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'content-length': 100 },
      });
      req.on('error', () => undefined);
      req.write('{"a":');
      await arrived;
      req.destroy();
      expect(await sink.firstRow()).toMatchObject({
        status: 499,
        terminal: 'cancelled',
        reason: 'client_closed',
        cancelled_phase: 'upload',
      });
    });
  });

  it('records a client that leaves before the answer as cancelled', async () => {
    let entered: () => void = () => undefined;
    const inside = new Promise<void>((resolve) => {
      entered = resolve;
    });
    const { url } = await listen(app((() => entered()) as RequestHandler));
    const req = open(url, { method: 'POST' });
    req.on('error', () => undefined);
    req.end('{}');
    await inside;
    req.destroy();
    expect(await sink.firstRow()).toMatchObject({
      status: 499,
      terminal: 'cancelled',
      reason: 'client_closed',
    });
  });

  it('writes one row where it stands twice, by one factory or two', async () => {
    const once = journalRecord({ journal });
    await request(app(once, once, journalRecord({ journal }))).post('/');
    await request(app()).post('/');
    await sink.waitForRows(2);
    expect(new Set(sink.rows.map(({ rid }) => rid)).size).toBe(2);
    expect(sink.rows).toHaveLength(2);
  });

  it('writes one row into each of two journals', async () => {
    const other = captureJournal();
    const response = await request(app(journalRecord({ journal: createJournal(other) }))).post('/');
    const rid = response.headers['x-request-id'];
    expect((await sink.firstRow()).rid).toBe(rid);
    expect((await other.firstRow()).rid).toBe(rid);
    expect([sink.rows.length, other.rows.length]).toEqual([1, 1]);
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('disk');
      },
    ],
    ['rejects', () => Promise.reject(new Error('disk'))],
  ])('fails no request when its sink %s; the loss is counted and told once', async (_words, write) => {
    const logger = captureLogger();
    const broken = createJournal({ write, close: () => undefined }, logger);
    const host = appOf([journalRecord({ journal: broken })]);
    expect((await request(host).post('/')).status).toBe(200);
    expect((await request(host).post('/')).status).toBe(200);
    await broken.close();
    expect(broken.lost).toBe(2);
    expect(logger.lines.map(({ level }) => level)).toEqual(['warn']);
  });

  it.each([
    ['printable ASCII', 'id 1:~', 'id 1:~'],
    ['128 characters', 'x'.repeat(128), 'x'.repeat(128)],
    ['129 characters', 'x'.repeat(129), null],
    ['a tab', 'a\tb', null],
    ['bytes above ASCII', 'caf\u00e9', null],
  ])('keeps a client id of %s only if it is fit', async (_words, id, kept) => {
    const { url } = await listen(app());
    const req = open(url, { method: 'POST', headers: { 'x-request-id': id } });
    req.end();
    const [res] = (await once(req, 'response')) as [IncomingMessage];
    res.resume();
    const row = await sink.firstRow();
    expect(row.client_rid).toBe(kept);
    expect(res.headers['x-request-id']).toBe(row.rid);
  });
});
