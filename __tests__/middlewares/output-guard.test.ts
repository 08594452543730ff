import request from 'supertest';
import { outputGuard } from '../../lib/index';
import { appOf, refusalOf } from '../helpers/alone';

const app = appOf([outputGuard()]);

function post(body: object) {
  return request(app).post('/').send(body);
}

const FUNCTION = { type: 'function', function: { name: 'f' } };

describe('outputGuard', () => {
  it.each([
    {},
    { audio: null },
    { modalities: ['text'] },
    { modalities: null },
    { tools: null },
    { tools: [] },
    { tools: [FUNCTION, { function: { name: 'g' } }] },
  ])('lets %j pass', async (body) => {
    expect((await post(body)).body).toEqual({ seen: body });
  });

  it.each([
    [{ audio: { voice: 'x' } }, 'audio'],
    [{ audio: false }, 'audio'],
    [{ audio: '' }, 'audio'],
    [{ modalities: [] }, 'modalities'],
    [{ modalities: ['audio'] }, 'modalities'],
    [{ modalities: ['text', 'audio'] }, 'modalities'],
    [{ modalities: ['text', 'text'] }, 'modalities'],
    [{ modalities: 'text' }, 'modalities'],
    [{ tools: {} }, 'tools'],
    [{ tools: 'f' }, 'tools'],
    [{ tools: [FUNCTION, null] }, 'tools'],
    [{ tools: [[FUNCTION]] }, 'tools'],
    [{ tools: [FUNCTION, { type: 'web_search' }] }, 'tools'],
    [{ tools: [{ type: 5 }] }, 'tools'],
    [{ tools: {}, audio: {} }, 'audio'],
  ])('refuses %j and names the option', async (body, param) => {
    const refusal = refusalOf(await post(body), 400, 'output_option');
    expect(refusal).toMatchObject({ type: 'invalid_request_error', param, code: null });
    expect(refusal.message).toMatch(new RegExp(`^${param} `));
    refusalOf(await post({ ...body, stream: false }), 400, 'output_option');
    refusalOf(await post({ ...body, stream: null }), 400, 'output_option');
  });

  it('lets the same pass in a stream, whose bytes go on as they are', async () => {
    for (const body of [{ audio: {} }, { modalities: ['audio'] }, { tools: [{ type: 'web_search' }] }]) {
      expect((await post({ ...body, stream: true })).status).toBe(200);
    }
  });
});
