import type OpenAI from 'openai';
import {
  APIError,
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
  RateLimitError,
} from 'openai';
import type { StubScript } from '../../lib/testing';
import { type Gateway, HI, startGateway, until } from './gateway';
import { clientOf, MODEL, start } from './sdk';

describe('an error through the openai SDK', () => {
  type ErrorClass = new (...args: never[]) => APIError;

  async function failure(asked: Promise<unknown>): Promise<APIError> {
    try {
      await asked;
    } catch (error) {
      if (error instanceof APIError) return error;
      throw error;
    }
    throw new Error('the request did not fail');
  }

  function ask(client: OpenAI, more: Record<string, unknown> = {}): Promise<unknown> {
    const body = { model: MODEL, messages: [{ role: 'user' as const, content: 'hi' }], ...more };
    return client.chat.completions.create(body as OpenAI.ChatCompletionCreateParamsNonStreaming);
  }

  async function expectFailure(
    gateway: Gateway,
    asked: Promise<unknown>,
    ofClass: ErrorClass,
    facts: { status: number; type: string; code: string | number | null },
  ): Promise<APIError> {
    const error = await failure(asked);
    expect(error).toBeInstanceOf(ofClass);
    expect(error).toMatchObject(facts);
    const row = (await gateway.rowsOf(1)).at(-1);
    expect(error.requestID).toBe(row?.rid);
    expect(row?.status).toBe(facts.status);
    return error;
  }

  it.each([false, true])('is BadRequestError for a 400 of the gateway (stream: %s)', async (stream) => {
    const { gateway, client } = await start();
    const asked = ask(client, { max_tokens: 'many', stream });
    const facts = { status: 400, type: 'invalid_request_error', code: null, param: 'max_tokens' };
    await expectFailure(gateway, asked, BadRequestError, facts);
  });

  it('is BadRequestError with context_length_exceeded for a context that is too long', async () => {
    const { gateway, client } = await start({ stub: { maxModelLen: 8 } });
    const facts = { status: 400, type: 'BadRequestError', code: 'context_length_exceeded' };
    const error = await expectFailure(gateway, ask(client, { max_tokens: 64 }), BadRequestError, facts);
    expect(error.message).toContain('maximum context length is 8');
  });

  it('is AuthenticationError for a wrong key', async () => {
    const { gateway } = await start();
    const facts = { status: 401, type: 'authentication_error', code: 'invalid_api_key' };
    await expectFailure(gateway, ask(clientOf(gateway, 'wrong')), AuthenticationError, facts);
  });

  it('is NotFoundError for another model', async () => {
    const { gateway, client } = await start();
    const facts = { status: 404, type: 'invalid_request_error', code: 'model_not_found', param: 'model' };
    await expectFailure(gateway, ask(client, { model: 'other/model' }), NotFoundError, facts);
  });

  it('is a plain APIError for a body that is too large', async () => {
    const { gateway, client } = await start({ file: { serving: { max_request_bytes: 1000 } } });
    const asked = ask(client, { user: 'x'.repeat(2000) });
    const facts = { status: 413, type: 'request_too_large', code: null };
    const error = await expectFailure(gateway, asked, APIError, facts);
    expect(Object.getPrototypeOf(error)).toBe(APIError.prototype);
  });

  it('is RateLimitError for a full house, with a wait that the SDK obeys', async () => {
    const { gateway, client } = await start({ file: { serving: { max_connections: 1 } } });
    gateway.fleet.script = { leg: 'prefill', hang: true };
    const first = ask(client).catch(() => undefined);
    await until(() => gateway.legs.length === 1);
    const facts = { status: 429, type: 'server_overloaded_error', code: null };
    const error = await expectFailure(gateway, ask(client), RateLimitError, facts);
    const wait = error.headers?.get('retry-after') ?? '';
    expect(wait).toMatch(/^\d+$/);
    expect(Number(wait)).toBeGreaterThanOrEqual(1);
    expect(Number(wait)).toBeLessThanOrEqual(60);
    await gateway.router.close();
    await first;
  });

  it('is InternalServerError for a fault inside the gateway, whose text says nothing of it', async () => {
    const authenticate = () => {
      throw new Error('db secret-host is down');
    };
    const gateway = await startGateway({ options: { authenticate } });
    const facts = { status: 500, type: 'internal_error', code: null };
    const error = await expectFailure(gateway, ask(clientOf(gateway)), InternalServerError, facts);
    expect(error.message).not.toContain('secret-host');
  });

  const BROKEN: [string, StubScript, 502 | 504, 'prefill' | 'decode'][] = [
    ['a prefill engine that fails', { leg: 'prefill', status: 500 }, 502, 'prefill'],
    ['a decode engine that fails', { leg: 'decode', status: 500 }, 502, 'decode'],
    ['a decode engine that is overloaded', { leg: 'decode', status: 503 }, 502, 'decode'],
    ['an engine that ran out of time', { leg: 'decode', status: 504 }, 504, 'decode'],
    ['a prefill engine that never answers', { leg: 'prefill', hang: true }, 504, 'prefill'],
    ['a decode engine that never answers', { leg: 'decode', hang: true }, 504, 'decode'],
  ];

  it.each(BROKEN.flatMap((row) => [false, true].map((stream) => [...row, stream] as const)))(
    'is InternalServerError for %s (%j: %i %s, stream: %s)',
    async (_what, script, status, leg, stream) => {
      // Short only where the engine is silent on purpose: a slow machine must not run into it.
      const limit = (name: string): number => (script.hang && leg === name ? 0.1 : 60);
      const file = {
        serving: { max_attempts: 1, prefill_timeout_s: limit('prefill') },
        engine: { first_token_timeout_s: limit('decode') },
      };
      const { gateway, client } = await start({ file });
      gateway.fleet.script = script;
      const facts = { status, type: leg, code: leg };
      await expectFailure(gateway, ask(client, { stream }), InternalServerError, facts);
    },
  );

  it('is InternalServerError while the gateway shuts down', async () => {
    const { gateway, client } = await start();
    await gateway.router.close();
    const facts = { status: 503, type: 'shutting_down', code: 'shutting_down' };
    const error = await expectFailure(gateway, ask(client), InternalServerError, facts);
    expect(error.headers?.get('retry-after')).toBe('1');
  });

  it('inside a stream throws while iterating, after the output that came before it', async () => {
    const { gateway, client } = await start();
    gateway.fleet.script = { leg: 'decode', resetAfterFrames: 3 };
    const stream = await client.chat.completions.create({
      model: MODEL,
      messages: [{ role: 'user', content: HI[0]!.content }],
      stream: true,
    });
    let text = '';
    const reading = (async () => {
      for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
    })();
    const error = await failure(reading);
    expect(error).toMatchObject({ type: 'decode', code: 'failed' });
    expect(text).toMatch(/^Heard ./);
    expect((await gateway.rowsOf(1))[0]).toMatchObject({
      terminal: 'failed',
      reason: 'engine_connection',
      status: 200,
    });
  });
});
