import express, { type RequestHandler } from 'express';
import { narwhalRouter } from '../../lib/index';
import { CHAT, COMPLETIONS, errorOf, startGateway } from './gateway';

const HI_TEXT = '"messages":[{"role":"user","content":"caf\\u00e9"}]';
const EXACT =
  `{ ${HI_TEXT},"seed":990000000262240065 ,"temperature":1.0,"x":-0,"note":"\\u0041 \\/","__proto__":{"a":1.0},` +
  '"10":1,"b":1,"9":2}';
/** What JSON.parse and JSON.stringify leave of it. */
const REWRITTEN =
  '{"9":2,"10":1,"messages":[{"role":"user","content":"caf\u00e9"}],"seed":990000000262240100,' +
  '"temperature":1,"x":0,"note":"A /","__proto__":{"a":1},"b":1}';

/** The members that both legs were sent in front of those that the router adds. */
async function bothLegs(before: readonly RequestHandler[], headers = {}): Promise<[string, string]> {
  const gateway = await startGateway({ before });
  const reply = await gateway.post(CHAT, Buffer.from(EXACT), headers);
  expect(reply.status).toBe(200);
  expect(await gateway.row()).toMatchObject({ terminal: 'completed', stream: false });
  const heads = gateway.legs.map(({ body }) => body.toString('utf8').split(',"model":')[0]!);
  expect(heads).toHaveLength(2);
  return heads as [string, string];
}

const inner = (text: string): string => text.replace(/^\{\s*/, '{').replace(/\}$/, '');

describe('a body that the host has parsed', () => {
  it('reaches both legs written anew, once: numbers, escapes and key order are those of JavaScript', async () => {
    const stringify = jest.spyOn(JSON, 'stringify');
    const legs = await bothLegs([express.json()]);
    const texts = stringify.mock.results.filter(({ value }) => value === REWRITTEN);
    stringify.mockRestore();
    expect(legs).toEqual([inner(REWRITTEN), inner(REWRITTEN)]);
    expect(texts).toHaveLength(1);
  });

  const EXACT_HOSTS: [string, RequestHandler[]][] = [
    ['by nobody', []],
    ['with narwhalRouter.rawBody', [express.json({ verify: narwhalRouter.rawBody })]],
    ['as raw bytes', [express.raw({ type: '*/*' })]],
    ['as text', [express.text({ type: '*/*' })]],
    ['by a parser that skips it', [express.urlencoded({ extended: false })]],
  ];

  it.each(EXACT_HOSTS)('reaches both legs byte for byte when it was read %s', async (_name, before) => {
    expect(await bothLegs(before)).toEqual([inner(EXACT), inner(EXACT)]);
  });

  it('is still checked: 64-bit digits pass, a wrong type does not', async () => {
    const gateway = await startGateway({ before: [express.json({ verify: narwhalRouter.rawBody })] });
    const reply = await gateway.post(COMPLETIONS, '{"prompt":"hi","max_tokens":"9"}');
    expect(reply.status).toBe(400);
    expect(errorOf(reply)).toMatchObject({ message: 'max_tokens must be an integer', param: 'max_tokens' });
    expect(gateway.legs).toEqual([]);
  });

  it('with duplicate keys is refused where the bytes were kept', async () => {
    const gateway = await startGateway({ before: [express.json({ verify: narwhalRouter.rawBody })] });
    const reply = await gateway.post(COMPLETIONS, '{"prompt":"hi","model":"example/model","model":"other"}');
    expect(reply.status).toBe(400);
    expect(gateway.legs).toEqual([]);
  });

  it('is streamed and listed as any other', async () => {
    for (const before of [express.json(), express.json({ verify: narwhalRouter.rawBody })]) {
      const gateway = await startGateway({ before: [before] });
      const reply = await gateway.post(COMPLETIONS, { prompt: ['a', 'b'], stream: true });
      expect(reply.text).toContain('data: [DONE]\n\n');
      expect(
        gateway.legs
          .filter(({ leg }) => leg === 'prefill')
          .map(({ json }) => json?.['prompt'])
          .sort(),
      ).toEqual(['a', 'b']);
    }
  });

  it('and thrown away is a 500 that tells the host what to do, not a hang', async () => {
    const swallow: RequestHandler = (req, _res, next) => {
      req.resume().once('end', () => next());
    };
    const gateway = await startGateway({ before: [swallow] });
    const reply = await gateway.post(COMPLETIONS, { prompt: 'hi' });
    expect(reply.status).toBe(500);
    expect(errorOf(reply)['message']).toContain('narwhalRouter.rawBody');
    expect(await gateway.row()).toMatchObject({ terminal: 'failed', reason: 'internal' });
  });

  it('and changed by the host is sent as the host changed it', async () => {
    const change: RequestHandler = (req, _res, next) => {
      (req.body as Record<string, unknown>)['top_k'] = 7;
      next();
    };
    const gateway = await startGateway({ before: [express.json(), change] });
    expect((await gateway.post(COMPLETIONS, { prompt: 'hi' })).status).toBe(200);
    expect(gateway.legs.map(({ json }) => json?.['top_k'])).toEqual([7, 7]);
  });
});
