import { vllm } from '../../lib/engines/dialects/vllm';

describe("an engine's error answer", () => {
  it.each([
    [401, '{"error":"Unauthorized"}', { kind: 'auth', text: 'Unauthorized' }],
    [403, 'no', { kind: 'auth', text: 'no' }],
    [408, '[]', { kind: 'timeout', text: '[]' }],
    [504, '', { kind: 'timeout', text: '' }],
    [429, '{"detail":"slow"}', { kind: 'overloaded', text: 'slow' }],
    [503, 'null', { kind: 'overloaded', text: 'null' }],
    [500, '{"error":{"message":""}}', { kind: 'error', text: '' }],
  ])('of status %i with %s is read', (status, body, reading) => {
    expect(vllm.readError(status, body)).toEqual(reading);
  });

  it('that refuses the request keeps its words, and has some where the engine had none', () => {
    const body =
      '{"object":"error","message":"bad top_p","type":"BadRequestError","param":"top_p","code":400}';
    const refusal = { status: 400, type: 'BadRequestError', param: 'top_p', code: 400, message: 'bad top_p' };
    expect(vllm.readError(400, body)).toEqual({ kind: 'refusal', refusal });
    expect(vllm.readError(422, '{"code":{}}')).toMatchObject({
      refusal: {
        type: 'invalid_request_error',
        param: null,
        code: null,
        message: 'the engine refused the request with status 422',
      },
    });
  });

  it('that is very long is cut', () => {
    const { text } = vllm.readError(500, 'x'.repeat(5000)) as { text: string };
    expect(text).toBe(`${'x'.repeat(4000)}...`);
  });
});

describe('the status of an error frame', () => {
  it.each([
    [{ error: { code: 503 } }, 503],
    [{ object: 'error', code: '429' }, 429],
    [{ error: 'text' }, 500],
    [{ error: { code: 200 } }, 500],
    [{ error: { code: 600 } }, 500],
    [{ error: { code: 'bad' } }, 500],
    [null, 500],
    [[1], 500],
  ])('%j is taken for its code where that is one', (frame, status) => {
    expect(vllm.frameStatus(frame)).toBe(status);
  });
});
