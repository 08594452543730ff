import request from 'supertest';
import { samplingGuard } from '../../lib/index';
import { appOf, refusalOf } from '../helpers/alone';

const app = appOf([samplingGuard()]);

function post(body: string) {
  return request(app).post('/').type('json').send(body);
}

describe('samplingGuard', () => {
  it.each([
    '{}',
    '{"n":1}',
    '{"n":1.0}',
    '{"n":1e0}',
    '{"n":null,"best_of":null}',
    '{"best_of":1}',
    '{"use_beam_search":false}',
    '{"use_beam_search":null}',
  ])('lets %s pass', async (body) => {
    expect((await post(body)).status).toBe(200);
  });

  it.each([
    ['{"n":2}', 'n', 'n must be 1'],
    ['{"n":0}', 'n', 'n must be 1'],
    ['{"n":-1}', 'n', 'n must be 1'],
    ['{"n":"1"}', 'n', 'n must be 1'],
    ['{"n":true}', 'n', 'n must be 1'],
    ['{"n":1.5}', 'n', 'n must be 1'],
    ['{"n":[1]}', 'n', 'n must be 1'],
    ['{"best_of":2}', 'best_of', 'best_of must be 1'],
    ['{"n":1,"best_of":20}', 'best_of', 'best_of must be 1'],
    ['{"best_of":2,"n":3}', 'n', 'n must be 1'],
    ['{"use_beam_search":true}', 'use_beam_search', 'use_beam_search must be false'],
    ['{"use_beam_search":1}', 'use_beam_search', 'use_beam_search must be false'],
    ['{"use_beam_search":"true"}', 'use_beam_search', 'use_beam_search must be false'],
  ])('refuses %s and names the field', async (body, param, message) => {
    expect(refusalOf(await post(body), 400, 'sampling_width')).toEqual({
      message,
      type: 'invalid_request_error',
      param,
      code: null,
    });
  });

  it('reads own keys only', async () => {
    expect((await post('{"__proto__":{"n":3}}')).status).toBe(200);
  });
});
