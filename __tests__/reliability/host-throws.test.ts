/** A host whose own `end` breaks: the client is not left waiting, and the process goes on. */
import type { RequestHandler } from 'express';
import { CHAT, HI, startGateway, until } from '../integration/gateway';

/** An `end` that throws so many times. */
const broken =
  (times: number): RequestHandler =>
  (_req, res, next) => {
    const own = res.end.bind(res) as (...given: unknown[]) => never;
    let left = times;
    res.end = ((...given: unknown[]) => {
      if (left-- > 0) throw new Error('the end of the host is broken');
      return own(...given);
    }) as typeof res.end;
    next();
  };

describe('an end of the host that throws', () => {
  it.each([
    ['in a stream', { messages: HI, stream: true }, 1, 200],
    ['for one answer', { messages: HI }, 1, 500],
    ['for one answer, and for its error', { messages: HI }, 2, 500],
  ])('leaves no request open: %s', async (_what, body, times, status) => {
    const gateway = await startGateway({ before: [broken(times)] });
    await gateway.post(CHAT, body).catch(() => undefined);
    expect(await gateway.row()).toMatchObject({ terminal: 'failed', reason: 'internal', status });
    await until(() => gateway.router.state().in_flight === 0);
    expect(gateway.router.state().seats_taken).toBe(0);
    expect(gateway.logText).toContain('the end of the host is broken');
  });
});
