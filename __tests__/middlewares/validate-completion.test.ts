import express from 'express';
import request from 'supertest';
import { ConfigError, type ValidateCompletionOptions, validateCompletion } from '../../lib/index';
import { appOf, echoBody, refusalOf, thrownBy } from '../helpers/alone';
import { CHAT, COMPLETIONS } from '../helpers/call';

const MESSAGES = [{ role: 'user', content: 'hi' }];

function post(options: ValidateCompletionOptions | undefined, path: string, body: object) {
  return request(appOf([validateCompletion(options)]))
    .post(path)
    .send(body);
}

describe('validateCompletion', () => {
  it.each([
    [{ route: 'chats' }, 'route must be one of completion, chat'],
    [{ route: null }, 'route must be one of completion, chat'],
    [{ requireInput: 'no' }, 'requireInput must be a boolean'],
    [{ requireInput: null }, 'requireInput must be a boolean'],
    [{ requireInputs: false }, 'unknown option requireInputs (did you mean requireInput?)'],
    [{ routes: 'chat' }, 'unknown option routes (did you mean route?)'],
  ])('refuses the options %j at once', (options, words) => {
    const error = thrownBy(() => validateCompletion(options as ValidateCompletionOptions));
    expect(error).toBeInstanceOf(ConfigError);
    expect(error?.message).toBe(`validateCompletion: ${words}`);
  });

  it.each([null, [], 'chat', 5])('refuses %j in place of options', (options) => {
    const error = thrownBy(() => validateCompletion(options as ValidateCompletionOptions));
    expect(error?.message).toBe('validateCompletion: options must be an object');
  });

  it.each([
    [CHAT, { prompt: 'hi' }, 'messages is required', 'messages'],
    [`${CHAT}/?a=1`, { messages: [] }, 'messages is required', 'messages'],
    [CHAT, { messages: null }, 'messages is required', 'messages'],
    [COMPLETIONS, { messages: MESSAGES }, 'prompt is required', 'prompt'],
    [COMPLETIONS, { prompt: null }, 'prompt is required', 'prompt'],
    ['/elsewhere', {}, 'prompt is required', 'prompt'],
    ['/elsewhere', { messages: [] }, 'messages is required', 'messages'],
  ])('tells by the path, else by the body, what is required: %s %j', async (path, body, message, param) => {
    expect(refusalOf(await post(undefined, path, body), 400, 'required_field')).toEqual({
      message,
      type: 'invalid_request_error',
      param,
      code: null,
    });
  });

  it.each([
    [CHAT, { messages: MESSAGES }],
    [COMPLETIONS, { prompt: '' }],
    [COMPLETIONS, { prompt: [1, 2] }],
    [COMPLETIONS, { prompt_embeds: 'abc' }],
    ['/elsewhere', { messages: MESSAGES }],
  ])('lets pass what has it: %s %j', async (path, body) => {
    expect((await post(undefined, path, body)).body).toEqual({ seen: body });
  });

  it('holds to the route that it is told, whatever the path', async () => {
    const refused = await post({ route: 'chat' }, COMPLETIONS, { prompt: 'hi' });
    expect(refusalOf(refused, 400, 'required_field').param).toBe('messages');
    expect((await post({ route: 'completion' }, CHAT, { prompt: 'hi' })).status).toBe(200);
  });

  it('leaves a missing prompt to others with requireInput false', async () => {
    expect((await post({ requireInput: false }, CHAT, {})).status).toBe(200);
    const refused = await post({ requireInput: false }, CHAT, { n: '1' });
    expect(refusalOf(refused, 400, 'field_type').message).toBe('n must be an integer');
  });

  it('refuses reserved arguments and leaves reserved fields to the one who drops them', async () => {
    const xargs = await post(undefined, CHAT, {
      messages: MESSAGES,
      vllm_xargs: { kv_transfer_params: {} },
    });
    expect(refusalOf(xargs, 400, 'reserved_field').param).toBe('vllm_xargs');
    const dropped = await post(undefined, CHAT, { messages: MESSAGES, kv_transfer_params: { a: 1 } });
    expect(dropped.status).toBe(200);
  });

  it('coerces nothing and changes nothing in the body', async () => {
    const body = { messages: MESSAGES, stream: 'false' };
    const refused = await post(undefined, CHAT, body);
    expect(refusalOf(refused, 400, 'field_type').message).toBe('stream must be a boolean');
    const odd = { messages: MESSAGES, temperature: '0.5', extra: { n: 3 }, max_tokens: null };
    expect((await post(undefined, CHAT, odd)).body).toEqual({ seen: odd });
  });

  it('reads own keys only', async () => {
    const text = '{"__proto__":{"isAdmin":true,"n":3},"messages":[{"__proto__":{"x":1},"role":"user"}]}';
    const app = express();
    app.use(validateCompletion() as express.RequestHandler, (req, res) => {
      res.json({ admin: (req.body as { isAdmin?: true }).isAdmin ?? null });
    });
    const response = await request(app).post(CHAT).set('content-type', 'application/json').send(text);
    expect(response.body).toEqual({ admin: null });
    expect(({} as { isAdmin?: true }).isAdmin).toBeUndefined();
  });

  it('never repeats what the client wrote', async () => {
    const canary = 'PROMPTCANARY';
    for (const body of [{ messages: [canary] }, { model: [canary] }, { prompt: { [canary]: 1 } }]) {
      expect((await post(undefined, CHAT, body)).text).not.toContain(canary);
    }
    const broken = request(appOf([validateCompletion()]))
      .post(CHAT)
      .type('json');
    expect((await broken.send(`{"a": ${canary}`)).text).not.toContain(canary);
  });

  it('does not disturb a handler that is mounted on a path of its own', async () => {
    const app = express();
    app.post('/checked', validateCompletion() as express.RequestHandler, echoBody);
    app.post('/free', express.json(), echoBody);
    expect((await request(app).post('/free').send({ n: 'x' })).body).toEqual({ seen: { n: 'x' } });
    expect((await request(app).post('/checked').send({ n: 'x' })).status).toBe(400);
  });
});
