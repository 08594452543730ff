/** Prompts that are longer than a chunk of a socket: whoever looks finds what a short one would give. */
import express, { type RequestHandler } from 'express';
import request from 'supertest';
import { narwhalContext, validateCompletion } from '../../lib/index';
import { ParsedBody } from '../../lib/request/parsed-body';
import { appOf } from '../helpers/alone';
import { CHAT, COMPLETIONS, startGateway } from './gateway';

const ASCII = 'The quick \\"brown\\" fox.\\n\\u00e9\\ud83d\\udc4b'.repeat(8000);
const WIDE = '\u4f60\u597d \u{1f44b} \\ud83d\\udc4b'.repeat(9000);

const inner = (text: string): string => text.replace(/^\{/, '').replace(/\}$/, '');

describe('a long prompt', () => {
  it.each([
    ['of ASCII and escapes', ASCII],
    ['of many alphabets', WIDE],
  ])('%s reaches both legs byte for byte, with what stands around it', async (_what, prompt) => {
    const gateway = await startGateway();
    const tool = `{"type":"function","function":{"name":"f","description":"${'d'.repeat(500)}"}}`;
    const text =
      `{ "messages" : [{"role":"system","content":"be brief"},{"role":"user","content":"${prompt}"}] ,` +
      `"seed":990000000262240065,"temperature":1.0,"tools":[${tool}],"note":"\\u0041"}`;
    const reply = await gateway.post(CHAT, Buffer.from(text));
    expect([reply.status, reply.error]).toEqual([200, undefined]);
    expect(gateway.legs.map(({ leg }) => leg)).toEqual(['prefill', 'decode']);
    for (const { body } of gateway.legs) {
      expect(body.toString('utf8').startsWith(`{${inner(text).trimStart()}`)).toBe(true);
      expect(() => JSON.parse(body.toString('utf8')) as unknown).not.toThrow();
    }
  });

  it('is streamed with the usage that was asked for beside other options', async () => {
    const gateway = await startGateway();
    const text =
      `{"stream_options":{"x":1.0,"include_usage":false},"prompt":"${ASCII}","stream":true,` +
      '"stream_options_not":{"include_usage":false}}';
    const reply = await gateway.post(COMPLETIONS, Buffer.from(text));
    expect(reply.status).toBe(200);
    const decode = gateway.legs.find(({ leg }) => leg === 'decode')!.body.toString('utf8');
    expect(decode.startsWith('{"stream_options":{"x":1.0,"include_usage":true},"prompt":"The quick')).toBe(
      true,
    );
    expect(decode).toContain('"stream_options_not":{"include_usage":false}');
  });

  it.each([false, true])('is neither joined nor parsed in whole on its way, streamed: %s', async (stream) => {
    const value = jest.spyOn(ParsedBody.prototype, 'value', 'get');
    const bytes = jest.spyOn(ParsedBody.prototype, 'bytes', 'get');
    const gateway = await startGateway({
      file: { serving: { admission: 'shadow' }, slo: { ttft_s: 10 } },
    });
    const text = `{"messages":[{"role":"user","content":"${ASCII}"}],"stream":${stream},"max_tokens":3}`;
    expect((await gateway.post(CHAT, Buffer.from(text))).status).toBe(200);
    expect(await gateway.row()).toMatchObject({ stream, wanted_len: 3, terminal: 'completed' });
    expect([value.mock.calls, bytes.mock.calls]).toEqual([[], []]);
    value.mockRestore();
    bytes.mockRestore();
  });

  it('of a list is cut out of it exactly', async () => {
    const gateway = await startGateway();
    const text = `{"prompt":["${ASCII}", "b" ,"${WIDE}"],"user":"u"}`;
    const reply = await gateway.post(COMPLETIONS, Buffer.from(text));
    expect(reply.status).toBe(200);
    for (const prompt of [ASCII, 'b', WIDE]) {
      const start = `{"prompt":"${prompt}","user":"u"`;
      const own = gateway.legs.filter(({ body }) => body.toString('utf8').startsWith(start));
      expect(own.map(({ leg }) => leg)).toEqual(['prefill', 'decode']);
    }
  });

  it.each([
    [
      'a role beside it that is none',
      `{"messages":["${ASCII}"]}`,
      'every item in messages must be an object',
    ],
    ['a broken end', `{"messages":[{"content":"${ASCII}"}]`, 'the request body is not valid JSON'],
    ['a wrong type behind it', `{"prompt":"${ASCII}","max_tokens":"5"}`, 'max_tokens must be an integer'],
    ['a width behind it', `{"messages":[{"content":"${ASCII}"}],"n":2}`, 'n must be 1'],
  ])('is refused for %s in the words of a short one', async (_what, text, message) => {
    const gateway = await startGateway();
    const path = text.includes('"messages"') ? CHAT : COMPLETIONS;
    const reply = await gateway.post(path, Buffer.from(text));
    expect(reply.status).toBe(400);
    expect(JSON.parse(reply.text)).toMatchObject({ error: { message } });
    expect(gateway.legs).toEqual([]);
  });

  it('is in req.body and in the context for a host that looks, and may be put aside there', async () => {
    const seen: unknown[] = [];
    const look: RequestHandler = (req, _res, next) => {
      const holder = req as { body: { messages: { content: string }[]; mark?: number } };
      seen.push(Object.keys(req).includes('body'), holder.body.messages[0]?.content.length);
      holder.body.mark = 1;
      seen.push(holder.body.mark, narwhalContext(req)?.body?.['mark']);
      holder.body = { messages: [] };
      seen.push(holder.body);
      next();
    };
    const content = 'x'.repeat(200_000);
    const app = appOf([validateCompletion() as RequestHandler, look], express);
    const response = await request(app)
      .post(CHAT)
      .send({ messages: [{ content }] });
    expect(seen).toEqual([true, 200_000, 1, 1, { messages: [] }]);
    expect(response.body).toEqual({ seen: { messages: [] } });
  });
});
