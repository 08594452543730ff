import request from 'supertest';
import { ConfigError, type ModelGuardOptions, modelGuard } from '../../lib/index';
import { appOf, refusalOf, thrownBy } from '../helpers/alone';

function post(models: readonly string[], body: object) {
  return request(appOf([modelGuard({ models })]))
    .post('/')
    .send(body);
}

describe('modelGuard', () => {
  it.each([
    undefined,
    null,
    {},
    { models: undefined },
    { models: null },
    { models: [] },
    { models: 'm1' },
    { models: [''] },
    { models: ['m1', 5] },
    { model: ['m1'] },
  ])('needs models: %j is refused at once', (options) => {
    const error = thrownBy(() => modelGuard(options as unknown as ModelGuardOptions));
    expect(error).toBeInstanceOf(ConfigError);
    expect(error?.message).toMatch(/^modelGuard: .*models/);
  });

  it('names the right key of a misspelt one', () => {
    const error = thrownBy(() => modelGuard({ models: ['m1'], maxBites: 3 } as ModelGuardOptions));
    expect(error?.message).toBe('modelGuard: unknown option maxBites (did you mean maxBytes?)');
  });

  it.each([{ model: 'm1' }, { model: 'm2' }, { model: null }, {}])('lets %j pass', async (body) => {
    expect((await post(['m1', 'm2'], body)).body).toEqual({ seen: body });
  });

  it.each(['m3', 'M1', 'm1 ', '', '__proto__', 5, true, ['m1'], { m1: 1 }])(
    'refuses the model %j with 404 and does not repeat it',
    async (model) => {
      expect(refusalOf(await post(['m1', 'm2'], { model }), 404, 'model')).toEqual({
        message: 'the model does not exist or is not served here',
        type: 'invalid_request_error',
        param: 'model',
        code: 'model_not_found',
      });
    },
  );

  it('is not moved by a list that changes later', async () => {
    const models = ['m1'];
    const app = appOf([modelGuard({ models })]);
    models.push('m2');
    expect((await request(app).post('/').send({ model: 'm2' })).status).toBe(404);
  });

  it('asks each of two copies in one chain', async () => {
    const app = appOf([modelGuard({ models: ['m1', 'm2'] }), modelGuard({ models: ['m2', 'm3'] })]);
    expect((await request(app).post('/').send({ model: 'm2' })).status).toBe(200);
    expect((await request(app).post('/').send({ model: 'm1' })).status).toBe(404);
    expect((await request(app).post('/').send({ model: 'm3' })).status).toBe(404);
  });
});
