/** What the four middlewares that look at the body have in common. */
import { gzipSync } from 'node:zlib';
import express5, { type RequestHandler } from 'express';
import request from 'supertest';
import {
  ConfigError,
  isNarwhalError,
  modelGuard,
  type NarwhalHandler,
  narwhalContext,
  narwhalErrorHandler,
  narwhalRouter,
  outputGuard,
  samplingGuard,
  validateCompletion,
} from '../../lib/index';
import { appOf, echoBody, keepErrors, refusalOf, thrownBy } from '../helpers/alone';
import { EXPRESS_VERSIONS } from '../helpers/create-app';

/** Options as a host without types may give them. */
type Make = (options?: object) => NarwhalHandler;

const GUARDS: readonly (readonly [string, Make, object, number, string])[] = [
  ['validateCompletion', validateCompletion as Make, { max_tokens: 'x' }, 400, 'field_type'],
  ['modelGuard', (options) => modelGuard({ models: ['m1'], ...options }), { model: 'other' }, 404, 'model'],
  ['outputGuard', outputGuard as Make, { audio: {} }, 400, 'output_option'],
  ['samplingGuard', samplingGuard as Make, { n: 2 }, 400, 'sampling_width'],
];
const GOOD = { model: 'm1', messages: [{ role: 'user', content: 'hi' }] };
const JSON_TYPE = { 'content-type': 'application/json' };

describe.each(GUARDS)('%s', (name, make, fault, status, reason) => {
  const bad = { ...GOOD, ...fault };

  it('names its inner function, for stack traces', () => {
    expect(make().name).not.toBe('');
  });

  it.each([
    ['no options', undefined],
    ['no values', {}],
    ['undefined values', { maxBytes: undefined, onError: undefined }],
    ['both words of onError', { onError: 'answer' }],
    ['a limit', { maxBytes: 1 }],
  ])('takes %s', (_words, options) => {
    expect(thrownBy(() => make(options))).toBeNull();
  });

  it.each([
    [{ maxBytes: 0 }, 'maxBytes must be at least 1'],
    [{ maxBytes: -1 }, 'maxBytes must be at least 1'],
    [{ maxBytes: 1.5 }, 'maxBytes must be a whole number'],
    [{ maxBytes: '4mb' }, 'maxBytes must be a number'],
    [{ maxBytes: null }, 'maxBytes must be a number'],
    [{ maxBytes: Number.NaN }, 'maxBytes must be a number'],
    [{ onError: 'throw' }, 'onError must be one of answer, next'],
    [{ onError: null }, 'onError must be one of answer, next'],
    [{ onError: true }, 'onError must be one of answer, next'],
  ])('refuses the options %j at once', (options, words) => {
    const error = thrownBy(() => make(options));
    expect(error).toBeInstanceOf(ConfigError);
    expect(error?.message).toBe(`${name}: ${words}`);
  });

  it('names the nearest right key of a misspelt one, and none where none is near', () => {
    expect(thrownBy(() => make({ maxbyte: 5 }))?.message).toBe(
      `${name}: unknown option maxbyte (did you mean maxBytes?)`,
    );
    expect(thrownBy(() => make({ onErr: 'next', zzzzzzzzzz: 1 }))?.message).toBe(
      `${name}: 2 problems\n  - unknown option onErr (did you mean onError?)\n  - unknown option zzzzzzzzzz`,
    );
  });

  it('lets a good request pass and leaves the parsed body in req.body', async () => {
    const response = await request(appOf([make()]))
      .post('/any/path')
      .send(GOOD);
    expect(response.status).toBe(200);
    expect(response.body).toEqual({ seen: GOOD });
    expect(response.headers['x-request-id']).toMatch(/^[\w-]{10,}$/);
  });

  it('answers its refusal with the envelope, without any other middleware', async () => {
    const response = await request(appOf([make()]))
      .post('/any/path')
      .send(bad);
    const { type, param } = refusalOf(response, status, reason);
    expect(type).toBe('invalid_request_error');
    expect(param).toBe(Object.keys(fault)[0]);
  });

  it.each(['/', '/v1/completions', '/api/v2', '/deep/er/v1/chat/completions'])(
    'works under the mount path %s',
    async (path) => {
      const app = express5();
      app.use(path, make() as RequestHandler, echoBody);
      expect(
        (
          await request(app)
            .post(path)
            .send({ ...GOOD, prompt: 'hi' })
        ).status,
      ).toBe(200);
      expect(
        (
          await request(app)
            .post(path)
            .send({ ...bad, prompt: 'hi' })
        ).status,
      ).toBe(status);
    },
  );

  it('hands the error with status and headers to the host with onError next', async () => {
    const { errors, handler } = keepErrors();
    const response = await request(appOf([make({ onError: 'next' }), handler]))
      .post('/')
      .send(bad);
    expect(response.status).toBe(418);
    expect(response.headers['x-request-id']).toMatch(/^[\w-]{10,}$/);
    const [error] = errors;
    expect(isNarwhalError(error)).toBe(true);
    expect(error).toMatchObject({ status, reason, headers: {}, expose: true });
  });

  it.each(EXPRESS_VERSIONS)(
    'has the right status from the final handler of Express %s',
    async (_v, express) => {
      const response = await request(appOf([make({ onError: 'next' })], express))
        .post('/')
        .send(bad);
      expect(response.status).toBe(status);
      expect(response.headers['content-type']).toMatch(/^text\/html/);
    },
  );

  it('has the same answer from narwhalErrorHandler as by itself', async () => {
    const own = await request(appOf([make()]))
      .post('/')
      .send(bad);
    const handled = await request(appOf([make({ onError: 'next' }), narwhalErrorHandler()]))
      .post('/')
      .send(bad);
    refusalOf(handled, status, reason);
    expect(handled.body).toEqual(own.body);
  });

  it('reads the body once when it stands twice in a chain', async () => {
    const app = appOf([make(), make()]);
    expect((await request(app).post('/').send(GOOD)).body).toEqual({ seen: GOOD });
    refusalOf(await request(app).post('/').send(bad), status, reason);
  });

  it('lets narwhalContext tell the body, and forgets nothing of the request id', async () => {
    const look: RequestHandler = (req, res) => {
      const context = narwhalContext(req);
      res.json({ body: context?.body, id: context?.requestId, terminal: context?.terminal });
    };
    const response = await request(appOf([make(), look]))
      .post('/')
      .send(GOOD);
    expect(response.body).toEqual({ body: GOOD, id: response.headers['x-request-id'], terminal: null });
  });

  describe.each(EXPRESS_VERSIONS)('with parsers of Express %s', (_version, express) => {
    it.each<[string, RequestHandler]>([
      ['json', express.json()],
      ['json with rawBody', express.json({ verify: narwhalRouter.rawBody })],
      ['raw', express.raw({ type: () => true })],
      ['text', express.text({ type: () => true })],
      ['urlencoded, which skips it', express.urlencoded({ extended: false })],
    ])('takes the body from %s', async (_words, parser) => {
      const app = appOf([parser, make()], express);
      expect((await request(app).post('/').send(GOOD)).body).toEqual({ seen: GOOD });
      refusalOf(await request(app).post('/').send(bad), status, reason);
    });

    it.each<[string, RequestHandler]>([
      ['json', express.json()],
      ['raw', express.raw({ type: () => true })],
      ['text', express.text({ type: () => true })],
    ])('keeps req.body where %s is mounted behind it', async (_words, parser) => {
      const response = await request(appOf([make(), parser], express))
        .post('/')
        .send(GOOD);
      expect(response.body).toEqual({ seen: GOOD });
    });
  });

  it('says 500 and how to mount it where the body was read and not kept', async () => {
    const swallow: RequestHandler = (req, _res, next) => {
      req.resume().on('end', () => next());
    };
    const response = await request(appOf([swallow, make()]))
      .post('/')
      .send(GOOD);
    const { message, type } = refusalOf(response, 500, 'internal');
    expect(type).toBe('internal_error');
    expect(message).toMatch(/read before this middleware .* narwhalRouter\.rawBody/);
  });

  it.each([
    ['no JSON', '{"a":', 400, 'json', 'the request body is not valid JSON'],
    ['nothing', '', 400, 'json', 'the request body is not valid JSON'],
    ['an array', '[1]', 400, 'body_shape', 'the request body must be a JSON object'],
    ['null', 'null', 400, 'body_shape', 'the request body must be a JSON object'],
    ['a key twice', '{"n":1,"n":2}', 400, 'body_shape', 'the request body must not repeat a top-level key'],
  ])('refuses %s as a body', async (_words, text, code, word, message) => {
    const response = await request(appOf([make()]))
      .post('/')
      .set(JSON_TYPE)
      .send(text);
    expect(refusalOf(response, code, word).message).toBe(message);
  });

  it('holds its limit to the byte, for bytes as sent and as inflated', async () => {
    const text = JSON.stringify(GOOD);
    const exact = appOf([make({ maxBytes: text.length })]);
    const tight = appOf([make({ maxBytes: text.length - 1 })]);
    const zipped = gzipSync(JSON.stringify({ ...GOOD, pad: 'x'.repeat(5000) }));
    expect((await request(exact).post('/').set(JSON_TYPE).send(text)).status).toBe(200);
    const refused = refusalOf(await request(tight).post('/').set(JSON_TYPE).send(text), 413, 'too_large');
    expect(refused.type).toBe('request_too_large');
    const bomb = await request(appOf([make({ maxBytes: 1000 })]))
      .post('/')
      .set({ 'content-type': 'application/octet-stream', 'content-encoding': 'gzip' })
      .send(zipped);
    expect(zipped.length).toBeLessThan(1000);
    refusalOf(bomb, 413, 'too_large');
  });

  it('refuses an unknown content encoding with 415', async () => {
    const response = await request(appOf([make()]))
      .post('/')
      .set({ ...JSON_TYPE, 'content-encoding': 'zstd' })
      .send('{}');
    refusalOf(response, 415, 'encoding');
  });

  it('asks for no content type', async () => {
    const app = appOf([make()]);
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'nonsense']) {
      const response = await request(app).post('/').set('content-type', type).send(JSON.stringify(GOOD));
      expect(response.body).toEqual({ seen: GOOD });
    }
  });
});
