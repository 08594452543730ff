import type { ErrorRequestHandler, RequestHandler } from 'express';
import request from 'supertest';
import { NarwhalError, narwhalContext, narwhalErrorHandler } from '../../lib/index';
import { appOf, refusalOf } from '../helpers/alone';
import { EXPRESS_VERSIONS } from '../helpers/create-app';

function failing(error: unknown): RequestHandler {
  return (_req, _res, next) => next(error);
}

describe.each(EXPRESS_VERSIONS)('narwhalErrorHandler on Express %s', (_version, express) => {
  it('keeps status, headers and words of a library error', async () => {
    const error = new NarwhalError('inflightLimit', 'full', { retryAfterS: 7, headers: { 'x-own': 'yes' } });
    const response = await request(appOf([failing(error), narwhalErrorHandler()], express)).post('/');
    expect(refusalOf(response, 429, 'inflight_limit')).toEqual({
      message: 'full',
      type: 'server_overloaded_error',
      param: null,
      code: null,
    });
    expect(response.headers).toMatchObject({ 'retry-after': '7', 'x-own': 'yes' });
  });

  it('knows a library error of another copy of the package by its brand', async () => {
    const foreign = Object.assign(
      new Error('no'),
      new NarwhalError('unknownModel', 'no', { param: 'model' }),
      {
        toJSON: () => ({ error: { message: 'no', type: 't', param: 'model', code: 'model_not_found' } }),
      },
    );
    expect(foreign).not.toBeInstanceOf(NarwhalError);
    const response = await request(appOf([failing(foreign), narwhalErrorHandler()], express)).post('/');
    expect(refusalOf(response, 404, 'model').code).toBe('model_not_found');
  });

  it.each<[string, unknown]>([
    ['an error', new Error('HOSTSECRET')],
    ['an error with a status of its own', Object.assign(new Error('HOSTSECRET'), { status: 403 })],
    ['an error of a foreign type', Object.assign(new Error('HOSTSECRET'), { type: 'toString' })],
    ['an error whose type is no text', Object.assign(new Error('HOSTSECRET'), { type: 5 })],
    ['a text', 'HOSTSECRET'],
    ['an object', { message: 'HOSTSECRET', type: 'entity.too.large' }],
  ])('answers 500 for %s and says nothing of it', async (_words, error) => {
    const response = await request(appOf([failing(error), narwhalErrorHandler()], express)).post('/');
    expect(refusalOf(response, 500, 'internal')).toEqual({
      message: 'the gateway failed',
      type: 'internal_error',
      param: null,
      code: null,
    });
    expect(response.text).not.toContain('HOSTSECRET');
  });

  it.each<[string, number, string]>([
    ['entity.too.large', 413, 'too_large'],
    ['parameters.too.many', 413, 'too_large'],
    ['entity.parse.failed', 400, 'json'],
    ['entity.verify.failed', 400, 'json'],
    ['request.size.invalid', 400, 'encoding'],
    ['encoding.unsupported', 415, 'encoding'],
    ['charset.unsupported', 415, 'encoding'],
    ['request.aborted', 400, 'encoding'],
    ['stream.not.readable', 500, 'internal'],
    ['stream.encoding.set', 500, 'internal'],
  ])('knows body-parser error %s', async (type, status, reason) => {
    const error = Object.assign(new Error('HOSTSECRET'), { type, status: 400 });
    const response = await request(appOf([failing(error), narwhalErrorHandler()], express)).post('/');
    expect(refusalOf(response, status, reason).message).not.toContain('HOSTSECRET');
  });

  it('answers for the parsers of Express itself, and mints the id where there is none', async () => {
    const app = appOf([express.json({ limit: 20 }), narwhalErrorHandler()], express);
    const post = () => request(app).post('/').type('json');
    refusalOf(await post().send('{"a":"PROMPTCANARY'), 400, 'json');
    expect((await post().send('{"a":"PROMPTCANARY')).text).not.toContain('PROMPTCANARY');
    const large = refusalOf(await post().send(`{"a":"${'x'.repeat(50)}"}`), 413, 'too_large');
    expect(large).toMatchObject({ type: 'request_too_large', code: null });
    expect(large.message).not.toMatch(/request too large/i);
    refusalOf(await post().set('content-encoding', 'zstd').send('{}'), 415, 'encoding');
    refusalOf(
      await post().set('content-type', 'application/json; charset=latin1').send('{}'),
      415,
      'encoding',
    );
  });

  it('answers for a handler that throws', async () => {
    const fail: RequestHandler = () => {
      throw new Error('HOSTSECRET');
    };
    const response = await request(appOf([fail, narwhalErrorHandler()], express)).post('/');
    refusalOf(response, 500, 'internal');
  });

  it('hands the error on where an answer has begun', async () => {
    const begun: RequestHandler = (_req, res, next) => {
      res.write('begun');
      next(new Error('late'));
    };
    const errors: unknown[] = [];
    const last: ErrorRequestHandler = (error, _req, res, _next) => {
      errors.push(error);
      res.end(' and ended');
    };
    const response = await request(appOf([begun, narwhalErrorHandler(), last], express)).post('/');
    expect(response.text).toBe('begun and ended');
    expect(errors).toMatchObject([{ message: 'late' }]);
  });

  it('keeps headers that were set before', async () => {
    const before: RequestHandler = (_req, res, next) => {
      res.setHeader('access-control-allow-origin', '*');
      next();
    };
    const app = appOf([before, failing(new Error('x')), narwhalErrorHandler()], express);
    expect((await request(app).post('/')).headers['access-control-allow-origin']).toBe('*');
  });

  it('answers once where it stands twice, and notes the end for narwhalContext', async () => {
    let terminal: unknown;
    const before: RequestHandler = (req, res, next) => {
      res.on('finish', () => {
        terminal = narwhalContext(req)?.terminal;
      });
      next();
    };
    const error = new NarwhalError('unknownModel', 'no');
    const app = appOf([before, failing(error), narwhalErrorHandler(), narwhalErrorHandler()], express);
    refusalOf(await request(app).post('/'), 404, 'model');
    expect(terminal).toBe('invalid');
  });

  it('answers HEAD without a body', async () => {
    const response = await request(appOf([failing(new Error('x')), narwhalErrorHandler()], express)).head(
      '/',
    );
    expect(response.status).toBe(500);
    expect(response.text ?? '').toBe('');
  });
});
