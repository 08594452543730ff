import { request as open } from 'node:http';
import type { Response as ExpressResponse, RequestHandler } from 'express';
import request from 'supertest';
import { Seats } from '../../lib/admission/seats';
import { type AdmissionGateOptions, admissionGate, ConfigError } from '../../lib/index';
import { appOf, keepErrors, refusalOf, thrownBy } from '../helpers/alone';
import { call, envelopeOf } from '../helpers/call';
import { listen } from '../helpers/create-app';

const BUSY = {
  message: 'the gateway is serving as many requests as it may; try again later',
  type: 'server_overloaded_error',
  param: null,
  code: null,
};

/** A handler that answers when the test says so. */
function room() {
  const inside: ExpressResponse[] = [];
  let entered: () => void = () => undefined;
  const handler: RequestHandler = (_req, res) => {
    inside.push(res);
    entered();
  };
  return {
    handler,
    inside,
    /** Waits until `count` requests are inside. */
    async holds(count: number): Promise<void> {
      while (inside.length < count) {
        await new Promise<void>((resolve) => {
          entered = resolve;
        });
      }
    },
  };
}

/** A gate with a room behind it, on a port. */
async function gate(options: AdmissionGateOptions) {
  const hall = room();
  const { url } = await listen(appOf([admissionGate(options), hall.handler]));
  return { ...hall, url, ask: () => call(url, { body: '{}' }) };
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve));
}

describe('the options of admissionGate', () => {
  it.each([
    undefined,
    {},
    { maxConnections: undefined, queueCapacity: undefined, queueTimeoutS: undefined, seats: undefined },
    { maxConnections: 1, queueCapacity: 0, queueTimeoutS: 0.5 },
  ])('may be %j', async (options) => {
    const response = await request(appOf([admissionGate(options)])).post('/');
    expect(response.status).toBe(200);
  });

  it.each([
    [{ maxConnections: 0 }, 'maxConnections must be at least 1'],
    [{ maxConnections: 1.5 }, 'maxConnections must be a whole number'],
    [{ maxConnections: '5' }, 'maxConnections must be a number'],
    [{ maxConnections: null }, 'maxConnections must be a number'],
    [{ maxConnections: Number.POSITIVE_INFINITY }, 'maxConnections must be a number'],
    [{ queueCapacity: -1 }, 'queueCapacity must be at least 0'],
    [{ queueCapacity: 0.5 }, 'queueCapacity must be a whole number'],
    [{ queueTimeoutS: -0.1 }, 'queueTimeoutS must be at least 0'],
    [{ queueTimeoutS: '1s' }, 'queueTimeoutS must be a number'],
    [{ seats: 5 }, 'seats must be of class Seats'],
    [{ maxConnection: 5 }, 'unknown option maxConnection (did you mean maxConnections?)'],
    [{ queueTimeout: 5 }, 'unknown option queueTimeout (did you mean queueTimeoutS?)'],
    [{ onError: 'no' }, 'onError must be one of answer, next'],
  ])('are checked at once: %j', (options, words) => {
    const error = thrownBy(() => admissionGate(options as unknown as AdmissionGateOptions));
    expect(error).toBeInstanceOf(ConfigError);
    expect(error?.message).toBe(`admissionGate: ${words}`);
  });

  it('do not take limits beside shared seats, where they would have no effect', () => {
    const seats = new Seats({ seats: 1, queueCapacity: 0, queueTimeoutS: 0 });
    expect(thrownBy(() => admissionGate({ seats, queueTimeoutS: 3 }))?.message).toBe(
      'admissionGate: give seats or queueTimeoutS, not both',
    );
  });
});

describe('admissionGate', () => {
  it('refuses the request above the limit with 429 and a whole Retry-After, and takes the next', async () => {
    const hall = await gate({ maxConnections: 1 });
    const first = hall.ask();
    await hall.holds(1);
    const refused = await hall.ask();
    expect(refused.status).toBe(429);
    expect(envelopeOf(refused)).toEqual(BUSY);
    expect(refused.headers['x-narwhal-reason']).toBe('inflight_limit');
    expect(refused.headers['retry-after']).toMatch(/^[1-5]$/);
    hall.inside[0]?.end();
    expect((await first).status).toBe(200);
    const third = hall.ask();
    await hall.holds(2);
    hall.inside[1]?.end();
    expect((await third).status).toBe(200);
  });

  it('spreads the clients that it refuses', async () => {
    const hall = await gate({ maxConnections: 1 });
    const first = hall.ask();
    await hall.holds(1);
    const waits = new Set<unknown>();
    for (let n = 0; n < 40; n++) waits.add((await hall.ask()).headers['retry-after']);
    expect(waits.size).toBeGreaterThan(1);
    hall.inside[0]?.end();
    await first;
  });

  it('lets requests wait in the order in which they came', async () => {
    const seats = new Seats({ seats: 1, queueCapacity: 2, queueTimeoutS: 30 });
    const hall = await gate({ seats });
    const first = hall.ask();
    await hall.holds(1);
    const second = call(`${hall.url}/second`, { body: '{}' });
    await until(() => seats.waiting === 1);
    const third = call(`${hall.url}/third`, { body: '{}' });
    await until(() => seats.waiting === 2);
    expect((await hall.ask()).status).toBe(429);
    for (const at of [0, 1, 2]) {
      await hall.holds(at + 1);
      hall.inside[at]?.end();
    }
    expect(hall.inside.map(({ req }) => req.url)).toEqual(['/', '/second', '/third']);
    expect((await Promise.all([first, second, third])).map(({ status }) => status)).toEqual([200, 200, 200]);
    await until(() => seats.taken === 0);
  });

  it('answers 504 where the wait ran out', async () => {
    const hall = await gate({ maxConnections: 1, queueCapacity: 1, queueTimeoutS: 0.02 });
    const first = hall.ask();
    await hall.holds(1);
    const expired = await hall.ask();
    expect(expired.status).toBe(504);
    expect(envelopeOf(expired)).toEqual({
      message: 'no place for the request came free within queue_timeout_s',
      type: 'queue_expired',
      param: null,
      code: 'queue_expired',
    });
    expect(expired.headers['x-narwhal-reason']).toBe('queue_timeout');
    expect(expired.headers['retry-after']).toBeUndefined();
    hall.inside[0]?.end();
    await first;
  });

  it('gives back the seat of a client that left, inside or in the queue, once each', async () => {
    const seats = new Seats({ seats: 1, queueCapacity: 1, queueTimeoutS: 30 });
    const hall = await gate({ seats });
    const leave = (): (() => void) => {
      const req = open(hall.url, { method: 'POST', agent: false });
      req.on('error', () => undefined);
      req.end('{}');
      return () => req.destroy();
    };
    const first = leave();
    await hall.holds(1);
    const second = leave();
    await until(() => seats.waiting === 1);
    second();
    await until(() => seats.waiting === 0);
    expect(seats.taken).toBe(1);
    first();
    await until(() => seats.taken === 0);
    hall.inside[0]?.end();
    const next = hall.ask();
    await hall.holds(2);
    expect(seats.taken).toBe(1);
    hall.inside[1]?.end();
    expect((await next).status).toBe(200);
    await until(() => seats.taken === 0);
  });

  it('gives back the seat where the handler throws', async () => {
    const seats = new Seats({ seats: 1, queueCapacity: 0, queueTimeoutS: 0 });
    const fail: RequestHandler = () => {
      throw new Error('boom');
    };
    const app = appOf([admissionGate({ seats }), fail]);
    for (let n = 0; n < 3; n++) expect((await request(app).post('/')).status).toBe(500);
    await until(() => seats.taken === 0);
  });

  it('shares seats between gates that are given the same, and only between those', async () => {
    const seats = new Seats({ seats: 1, queueCapacity: 0, queueTimeoutS: 0 });
    const one = await gate({ seats });
    const two = await gate({ seats });
    const free = await gate({ maxConnections: 1 });
    const held = one.ask();
    await one.holds(1);
    expect((await two.ask()).status).toBe(429);
    const other = free.ask();
    await free.holds(1);
    free.inside[0]?.end();
    expect((await other).status).toBe(200);
    one.inside[0]?.end();
    await held;
  });

  it('takes one seat of each of two copies in a chain', async () => {
    const app = appOf([admissionGate({ maxConnections: 1 }), admissionGate({ maxConnections: 1 })]);
    expect((await request(app).post('/')).status).toBe(200);
    expect((await request(app).post('/')).status).toBe(200);
  });

  it('hands 429 with its Retry-After to the host with onError next', async () => {
    const { errors, handler } = keepErrors();
    const hall = room();
    const { url } = await listen(
      appOf([admissionGate({ maxConnections: 1, onError: 'next' }), hall.handler, handler]),
    );
    const first = call(url, { body: '{}' });
    await hall.holds(1);
    expect((await call(url, { body: '{}' })).status).toBe(418);
    const [error] = errors;
    expect(error).toMatchObject({ status: 429, reason: 'inflight_limit' });
    expect((error as { headers: object }).headers).toEqual({
      'retry-after': expect.stringMatching(/^[1-5]$/) as string,
    });
    hall.inside[0]?.end();
    await first;
  });

  it('does not read the body', async () => {
    const look: RequestHandler = (req, res) => {
      res.json({ read: req.readableDidRead });
    };
    const response = await request(appOf([admissionGate(), look]))
      .post('/')
      .send({ a: 1 });
    expect(response.body).toEqual({ read: false });
  });

  it('refuses with a body that refusalOf accepts under supertest as well', async () => {
    const seats = new Seats({ seats: 1, queueCapacity: 0, queueTimeoutS: 0 });
    let release: () => void = () => undefined;
    seats.enter((answer) => {
      if (answer.kind === 'seated') release = answer.release;
    });
    const app = appOf([admissionGate({ seats })]);
    expect(refusalOf(await request(app).post('/'), 429, 'inflight_limit')).toEqual(BUSY);
    release();
    expect((await request(app).post('/')).status).toBe(200);
  });
});
