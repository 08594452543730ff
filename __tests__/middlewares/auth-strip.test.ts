import type { RequestHandler } from 'express';
import request from 'supertest';
import {
  type Authenticate,
  type AuthStripOptions,
  authStrip,
  ConfigError,
  narwhalContext,
  narwhalErrorHandler,
} from '../../lib/index';
import { appOf, keepErrors, refusalOf, thrownBy } from '../helpers/alone';
import { EXPRESS_VERSIONS } from '../helpers/create-app';

/** Tells what is left of a request behind authStrip. */
const look: RequestHandler = (req, res) => {
  res.json({ headers: req.headers, identity: narwhalContext(req)?.identity });
};

interface Seen {
  readonly headers: Record<string, string>;
  readonly identity: unknown;
}

function post(options: AuthStripOptions | undefined, headers: Record<string, string> = {}) {
  return request(appOf([authStrip(options), look]))
    .post('/')
    .set(headers)
    .send({});
}

/** What a host without types may answer. */
function answering(answer: unknown): AuthStripOptions {
  return { authenticate: (() => answer) as unknown as Authenticate };
}

const UNAUTHENTICATED = {
  message: 'a valid API key is needed: Authorization: Bearer <key>',
  type: 'authentication_error',
  param: null,
  code: 'invalid_api_key',
};

describe('the options of authStrip', () => {
  it.each([undefined, {}, { apiKeys: undefined, authenticate: undefined, onError: undefined }])(
    'may be left out: %j lets every request pass, without a tenant',
    async (options) => {
      const response = await post(options);
      expect((response.body as Seen).identity).toEqual({ tenant: null });
    },
  );

  it.each([
    [{ apiKeys: [] }, 'apiKeys must hold at least one key'],
    [{ apiKeys: {} }, 'apiKeys must hold at least one key'],
    [{ apiKeys: null }, 'apiKeys must be a list of keys, or an object from key to identity'],
    [{ apiKeys: 'key' }, 'apiKeys must be a list of keys, or an object from key to identity'],
    [{ apiKeys: [''] }, 'apiKeys: key number 1 must be printable ASCII text without blanks'],
    [{ apiKeys: ['ok', 'not ok'] }, 'apiKeys: key number 2 must be printable ASCII text without blanks'],
    [{ apiKeys: [undefined] }, 'apiKeys: key number 1 is undefined: is its environment variable set?'],
    [{ apiKeys: { key: 'tenant' } }, 'apiKeys: the identity of key number 1 must be an object'],
    [
      { apiKeys: { key: { tenant: 5 } } },
      'apiKeys: key number 1: the tenant of an identity must be a string or null, not a number',
    ],
    [{ apiKeys: { key: null } }, 'apiKeys: the identity of key number 1 must be an object'],
    [{ authenticate: 'me' }, 'authStrip: authenticate must be a function'],
    [{ authenticate: null }, 'authStrip: authenticate must be a function'],
    [{ apiKeys: ['k'], authenticate: () => null }, 'authStrip: give apiKeys or authenticate, not both'],
    [{ apiKey: ['k'] }, 'authStrip: unknown option apiKey (did you mean apiKeys?)'],
    [{ authentcate: () => null }, 'authStrip: unknown option authentcate (did you mean authenticate?)'],
    [{ onError: 'nxt' }, 'authStrip: onError must be one of answer, next'],
  ])('are checked at once: %j', (options, message) => {
    const error = thrownBy(() => authStrip(options as unknown as AuthStripOptions));
    expect(error).toBeInstanceOf(ConfigError);
    expect(error?.message).toBe(message);
  });

  it('are not repeated in a message where they are keys', () => {
    const error = thrownBy(() => authStrip({ apiKeys: ['SECRET KEY'] }));
    expect(error?.message).not.toContain('SECRET');
  });
});

describe('authStrip with keys', () => {
  const options = { apiKeys: ['key-1', 'key-2'] };

  it.each([
    { authorization: 'Bearer key-1' },
    { authorization: 'bearer key-2' },
    { authorization: 'BEARER   key-1' },
    { 'x-api-key': 'key-1' },
    { 'api-key': 'key-2' },
  ])('lets a known key pass: %j', async (headers) => {
    expect((await post(options, headers)).status).toBe(200);
  });

  it.each([
    {},
    { authorization: 'Bearer' },
    { authorization: 'Bearer key-3' },
    { authorization: 'Bearer KEY-1' },
    { authorization: 'Bearer key-1x' },
    { authorization: 'Bearer key-1 key-2' },
    { authorization: 'key-1' },
    { authorization: 'Basic key-1' },
    { authorization: 'Bearer __proto__' },
    { 'x-api-key': 'key-3' },
    { 'x-api-key': 'Bearer key-1' },
    { authorization: 'Bearer wrong', 'x-api-key': 'key-1' },
  ] as Record<string, string>[])('refuses %j with 401', async (headers) => {
    const response = await post(options, headers);
    expect(refusalOf(response, 401, 'unauthenticated')).toEqual(UNAUTHENTICATED);
    expect(response.headers['www-authenticate']).toBe('Bearer');
  });

  it('installs the identity of the key, with a tenant that is text or null', async () => {
    const apiKeys = { a: { tenant: 'red', weight: 3 }, b: { tenant: null }, c: {} };
    const seen = async (key: string) =>
      ((await post({ apiKeys }, { authorization: `Bearer ${key}` })).body as Seen).identity;
    expect(await seen('a')).toEqual({ tenant: 'red', weight: 3 });
    expect(await seen('b')).toEqual({ tenant: null });
    expect(await seen('c')).toEqual({ tenant: null });
  });

  it('answers 401 before it reads the body', async () => {
    const response = await request(appOf([authStrip(options)]))
      .post('/')
      .type('json')
      .send('{"broken');
    refusalOf(response, 401, 'unauthenticated');
  });
});

describe('authStrip with a hook', () => {
  const identity = { tenant: 'blue', plan: 'gold' };

  it.each([
    ['an identity', identity],
    ['a promise of it', Promise.resolve(identity)],
    // biome-ignore lint/suspicious/noThenProperty: a promise of another library is the subject
    ['a foreign promise of it', { then: (done: (value: object) => void) => done(identity) }],
  ])('takes %s', async (_words, answer) => {
    expect(((await post(answering(answer))).body as Seen).identity).toEqual(identity);
  });

  it.each([
    ['null', null],
    ['undefined', undefined],
    ['false', false],
    ['a promise of null', Promise.resolve(null)],
    ['a promise of undefined', Promise.resolve(undefined)],
    // biome-ignore lint/suspicious/noThenProperty: a promise of another library is the subject
    ['a foreign promise of null', { then: (done: (value: null) => void) => done(null) }],
  ])('refuses %s with 401', async (_words, answer) => {
    expect(refusalOf(await post(answering(answer)), 401, 'unauthenticated')).toEqual(UNAUTHENTICATED);
  });

  it.each([
    ['true', true],
    ['a text', 'blue'],
    ['an empty text', ''],
    ['a number', 0],
    ['a list', [identity]],
    ['a promise of true', Promise.resolve(true)],
  ])('lets nobody in for %s, which is no identity', async (_words, answer) => {
    const { message, type } = refusalOf(await post(answering(answer)), 500, 'internal');
    expect({ message, type }).toEqual({ message: 'the gateway failed', type: 'internal_error' });
  });

  describe.each(EXPRESS_VERSIONS)('that fails, on Express %s', (_version, express) => {
    it.each<[string, () => never | Promise<never>]>([
      [
        'throws',
        () => {
          throw new Error('HOSTSECRET');
        },
      ],
      ['rejects', () => Promise.reject(new Error('HOSTSECRET'))],
      ['rejects with no error', () => Promise.reject('HOSTSECRET')],
      [
        'throws no error',
        () => {
          throw undefined;
        },
      ],
    ])('answers 500 in the envelope when it %s', async (_words, authenticate) => {
      const app = appOf([authStrip({ authenticate }), look], express);
      const response = await request(app).post('/').send({});
      expect(refusalOf(response, 500, 'internal').type).toBe('internal_error');
      expect(response.text).not.toContain('HOSTSECRET');
    });
  });

  it.each([5, true, {}, ['red']])('answers 500 for the tenant %j, which is no text', async (tenant) => {
    const { message } = refusalOf(await post(answering({ tenant })), 500, 'internal');
    expect(message).toBe('the gateway failed');
  });

  it('sees the credentials that later handlers do not', async () => {
    let seen: unknown;
    const authenticate: Authenticate = (req) => {
      seen = req.headers['x-team-key'] ?? req.headers.authorization;
      return { tenant: null };
    };
    const response = await post({ authenticate }, { authorization: 'Bearer CANARY' });
    expect(seen).toBe('Bearer CANARY');
    expect(response.text).not.toContain('CANARY');
  });

  it('installs a frozen copy: a later change of the host does not reach it', async () => {
    const own = { tenant: 'blue' };
    const change: RequestHandler = (_req, _res, next) => {
      own.tenant = 'red';
      next();
    };
    const response = await request(appOf([authStrip({ authenticate: () => own }), change, look])).post('/');
    expect((response.body as Seen).identity).toEqual({ tenant: 'blue' });
  });
});

describe('authStrip and headers', () => {
  it.each([
    'authorization',
    'proxy-authorization',
    'x-api-key',
    'api-key',
    'x-goog-api-key',
    'cookie',
    'x-narwhal-tenant',
    'x-gateway-inference-objective',
    'x-gateway-inference-fairness-id',
    'x-llm-d-any',
    'x-prefiller-host-port',
    'x-encoder-hosts-ports',
    'x-slo-ttft-ms',
    'x-session-token',
    'x-data-parallel-rank',
  ])('removes %s', async (name) => {
    const response = await post(undefined, { [name]: 'CANARY', 'x-other': 'stays', traceparent: 't' });
    const { headers } = response.body as Seen;
    expect(response.text).not.toContain('CANARY');
    expect(headers).toMatchObject({ 'x-other': 'stays', traceparent: 't' });
  });

  it('leaves nothing of their values in any form in which Node keeps headers', async () => {
    const seen: unknown[] = [];
    const tell: RequestHandler = (req, res) => {
      seen.push(req.rawHeaders, req.headersDistinct);
      res.end();
    };
    const headers = { authorization: 'Bearer CANARY', cookie: 'a=CANARY', 'x-other': 'stays' };
    await request(appOf([authStrip(), tell]))
      .post('/')
      .set(headers)
      .expect(200);
    expect(JSON.stringify(seen)).not.toContain('CANARY');
    expect(seen[0]).toContain('stays');
  });

  it('removes them also from a request that it refuses, before the host sees the error', async () => {
    const seen: unknown[] = [];
    const response = await request(
      appOf([
        authStrip({ apiKeys: ['k'], onError: 'next' }),
        ((error: unknown, req: Parameters<RequestHandler>[0], _res: unknown, next: (e: unknown) => void) => {
          seen.push({ ...req.headers });
          next(error);
        }) as never,
        narwhalErrorHandler(),
      ]),
    )
      .post('/')
      .set({ authorization: 'Bearer CANARY' });
    refusalOf(response, 401, 'unauthenticated');
    expect(JSON.stringify(seen)).not.toContain('CANARY');
  });

  it('hands 401 with its header to the host with onError next', async () => {
    const { errors, handler } = keepErrors();
    await request(appOf([authStrip({ apiKeys: ['k'], onError: 'next' }), handler])).post('/');
    expect(errors).toMatchObject([
      { status: 401, headers: { 'www-authenticate': 'Bearer' }, reason: 'unauthenticated' },
    ]);
  });

  it.each(EXPRESS_VERSIONS)(
    'has status and header from the final handler of Express %s',
    async (_v, express) => {
      const app = appOf([authStrip({ apiKeys: ['k'], onError: 'next' })], express);
      const response = await request(app).post('/');
      expect(response.status).toBe(401);
      expect(response.headers['www-authenticate']).toBe('Bearer');
    },
  );

  it('asks each of two copies in one chain: the second finds no credential left', async () => {
    const app = appOf([authStrip({ apiKeys: ['k'] }), authStrip(), look]);
    const response = await request(app).post('/').set({ authorization: 'Bearer k' });
    expect(response.status).toBe(200);
    const twice = appOf([authStrip({ apiKeys: ['k'] }), authStrip({ apiKeys: ['k'] })]);
    refusalOf(await request(twice).post('/').set({ authorization: 'Bearer k' }), 401, 'unauthenticated');
  });
});
