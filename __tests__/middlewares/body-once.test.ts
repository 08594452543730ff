/** Guards outside of Express's order: one body, read once, whoever asks. */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { modelGuard, narwhalContext, outputGuard, samplingGuard } from '../../lib/index';
import { call, envelopeOf } from '../helpers/call';
import { closeLater } from '../helpers/close-all';

async function served(handle: (req: IncomingMessage, res: ServerResponse) => void): Promise<string> {
  const server = createServer(handle as RequestListener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closeLater({
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/completions`;
}

describe('guards of a host without Express', () => {
  it('that begin at one time share one reading of the body', async () => {
    const guards = [modelGuard({ models: ['m'] }), outputGuard(), samplingGuard()];
    const url = await served((req, res) => {
      let left = guards.length;
      for (const guard of guards) {
        guard(req as never, res as never, () => {
          if (--left === 0) res.end(JSON.stringify(narwhalContext(req)?.body));
        });
      }
    });
    const { status, text } = await call(url, { body: { model: 'm', prompt: 'a' } });
    expect([status, JSON.parse(text)]).toEqual([200, { model: 'm', prompt: 'a' }]);
  });

  it('answer 500 where the handler behind them throws, and say nothing of why', async () => {
    const guard = samplingGuard();
    const url = await served((req, res) => {
      guard(req as never, res as never, () => {
        throw new Error('CANARY');
      });
    });
    const reply = await call(url, { body: { prompt: 'a' } });
    expect(reply.status).toBe(500);
    expect(envelopeOf(reply).message).not.toContain('CANARY');
    expect(reply.headers['x-narwhal-reason']).toBe('internal');
  });
});
