/** How long a prompt is: by its token ids, by an engine's count, by its text. */

import { CHAT, COMPLETIONS, call } from '../helpers/call';
import { type Gateway, startGateway } from '../helpers/create-app';
import { mixedScript } from './tokenize-script';

const MESSAGES = [{ role: 'user', content: 'one two three four five' }];

/** A gateway whose tenant has a limit of tokens, so that lengths are asked for; one engine counts them. */
function start(engine: object, script: Parameters<typeof mixedScript>[0] = {}): Promise<Gateway> {
  return startGateway({
    stub: { script: mixedScript(script), apiKey: 'engine-key' },
    fleetFile: { engine: { tokenize: true, engine_api_key_env: 'ADMISSION_TEST_KEY', ...engine } },
    router: { authenticate: () => ({ tenant: 'a', tokensPerMinute: 1_000_000 }) },
  });
}

/** Tokens that were taken for a request. */
async function takenFor(gateway: Gateway, path: string, body: object): Promise<number> {
  const reply = await call(gateway.url + path, { body });
  expect(reply.status).toBe(200);
  return 1_000_000 - Number(reply.headers['x-ratelimit-remaining-tokens']);
}

beforeAll(() => {
  process.env['ADMISSION_TEST_KEY'] = 'engine-key';
});
afterAll(() => {
  delete process.env['ADMISSION_TEST_KEY'];
});

const tokenizeCalls = ({ fleet }: Gateway) => fleet.calls.filter(({ leg }) => leg === 'tokenize');

describe('with engine.tokenize the length', () => {
  it('is the count of an engine, of the prompt as the client wrote it', async () => {
    const gateway = await start({}, { count: 7 });
    const tools = [{ type: 'function', function: { name: 'f' } }];
    const body = { messages: MESSAGES, tools, temperature: 0.5, chat_template_kwargs: { a: 1.0 }, user: 'u' };
    expect(await takenFor(gateway, CHAT, body)).toBe(7);
    const [asked] = tokenizeCalls(gateway);
    expect(asked?.path).toBe('/tokenize');
    expect(asked?.headers).toMatchObject({
      authorization: 'Bearer engine-key',
      'x-request-id': expect.stringMatching(/-tokenize$/) as string,
    });
    expect(asked?.json).toEqual({
      model: gateway.fleet.model,
      messages: MESSAGES,
      tools,
      chat_template_kwargs: { a: 1 },
    });
  });

  it('of token ids is known without asking', async () => {
    const gateway = await start({});
    expect(await takenFor(gateway, COMPLETIONS, { prompt: [1, 2, 3, 4] })).toBe(4);
    expect(tokenizeCalls(gateway)).toEqual([]);
  });

  it('of a list of texts is estimated', async () => {
    const gateway = await start({ chars_per_token: 1 });
    expect(await takenFor(gateway, COMPLETIONS, { prompt: ['aaaa', 'bbbb'] })).toBe('["aaaa","bbbb"]'.length);
    expect(tokenizeCalls(gateway)).toEqual([]);
  });

  it.each([
    ['answers 500', { status: 500 }],
    ['answers something else', { body: 'no' }],
    ['resets the connection', { resetAfterFrames: 0 }],
    ['hangs', { hang: true }],
  ])('falls back to the estimate where the engine %s', async (_words, fault) => {
    const gateway = await start({ tokenize_timeout_s: 0.05, chars_per_token: 1 }, fault);
    const text = 'x'.repeat(40);
    expect(await takenFor(gateway, COMPLETIONS, { prompt: text })).toBe(text.length + 2);
  });

  it('is asked for less and less often while the engine does not say', async () => {
    const gateway = await start({}, { status: 500 });
    for (let n = 0; n < 16; n++) await takenFor(gateway, COMPLETIONS, { prompt: 'hello' });
    // Asked, 1 left out, asked, 2 left out, asked, 4 left out, asked, 5 of 8 left out.
    expect(tokenizeCalls(gateway)).toHaveLength(4);
    gateway.fleet.script = mixedScript({ count: 3 });
    for (let n = 0; n < 3; n++) await takenFor(gateway, COMPLETIONS, { prompt: 'hello' });
    await takenFor(gateway, COMPLETIONS, { prompt: 'hello' });
    await takenFor(gateway, COMPLETIONS, { prompt: 'hello' });
    expect(tokenizeCalls(gateway)).toHaveLength(6);
  });

  it('does not fail a request whose prompt the engine will not count', async () => {
    const gateway = await start({}, { status: 400 });
    for (let n = 0; n < 3; n++) await takenFor(gateway, COMPLETIONS, { prompt: 'hello' });
    // The prompt's fault, not the engine's: it is asked again.
    expect(tokenizeCalls(gateway)).toHaveLength(3);
  });
});

it('without engine.tokenize no engine is asked', async () => {
  const gateway = await start({ tokenize: false, chars_per_token: 4 });
  expect(await takenFor(gateway, COMPLETIONS, { prompt: 'x'.repeat(38) })).toBe(10);
  expect(tokenizeCalls(gateway)).toEqual([]);
});

it('is asked for by dispatch as well, where no gate has needed it', async () => {
  const gateway = await startGateway({
    stub: { script: mixedScript({ count: 9, leg: 'prefill', status: 422 }) },
    fleetFile: { engine: { tokenize: true } },
  });
  await call(gateway.url + COMPLETIONS, { body: { prompt: 'hello' } });
  expect((await gateway.journal.firstRow()).input_len).toBe(9);
});
