/** Beside the host's other middlewares: what they set stays, what they do holds nothing back. */
import compression from 'compression';
import type { RequestHandler } from 'express';
import { CHAT, CHAT_BODY, call, jsonOf } from '../helpers/call';
import { EXPRESS_VERSIONS, startGateway } from '../helpers/create-app';
import { parseEvents, parseSse } from '../helpers/parse-sse';

describe.each(EXPRESS_VERSIONS)('a host of Express %s', (_version, express) => {
  it('may compress: an event reaches the client while the engine is silent behind it', async () => {
    const gateway = await startGateway({
      express,
      before: [compression({ threshold: 0 })],
      stub: { script: { leg: 'decode', hangAfterFrames: 3 } },
    });
    const controller = new AbortController();
    const text = await new Promise<string>((resolve) => {
      let soFar = '';
      const gone = call(gateway.url + CHAT, {
        body: { ...CHAT_BODY, stream: true },
        headers: { 'accept-encoding': 'gzip' },
        signal: controller.signal,
        onPiece: (piece) => {
          soFar += piece.toString();
          if (parseEvents(soFar).length >= 2) controller.abort();
        },
      });
      gone.catch(() => resolve(soFar));
    });
    expect(parseSse(text).frames.length).toBeGreaterThanOrEqual(2);
    expect(await gateway.journal.firstRow()).toMatchObject({ status: 499, terminal: 'cancelled' });
  });

  it('may compress: a stream has the headers that keep it as it is', async () => {
    const gateway = await startGateway({ express, before: [compression({ threshold: 0 })] });
    const headers = { 'accept-encoding': 'gzip' };
    const reply = await call(gateway.url + CHAT, { body: { ...CHAT_BODY, stream: true }, headers });
    expect(reply.headers['content-encoding']).toBeUndefined();
    expect(reply.headers['cache-control']).toBe('no-cache, no-transform');
    expect(parseSse(reply.text).done).toBe(true);
  });

  it('may compress a whole answer', async () => {
    const gateway = await startGateway({ express, before: [compression({ threshold: 0 })] });
    const reply = await call(gateway.url + CHAT, { body: CHAT_BODY });
    expect(jsonOf(reply)).toMatchObject({ object: 'chat.completion' });
  });

  it('keeps the headers that it has set before', async () => {
    const before: RequestHandler = (_req, res, next) => {
      res.setHeader('access-control-allow-origin', 'https://a.example');
      res.setHeader('ratelimit-remaining', '5');
      next();
    };
    const gateway = await startGateway({ express, before: [before] });
    for (const members of [{}, { stream: true }, { n: 2 }]) {
      const { headers } = await call(gateway.url + CHAT, { body: { ...CHAT_BODY, ...members } });
      expect(headers).toMatchObject({
        'access-control-allow-origin': 'https://a.example',
        'ratelimit-remaining': '5',
      });
    }
  });
});
