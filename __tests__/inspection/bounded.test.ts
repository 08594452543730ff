/** Whatever clients send, the series stay those that there were before the first request. */

import { randomBytes } from 'node:crypto';
import { Agent, request } from 'node:http';
import type { Request, Response } from 'express';
import { CHAT, CHAT_BODY, call } from '../helpers/call';
import { startGateway } from '../helpers/create-app';
import { scrape } from './scrape';

const ROUNDS = 1000;

function random(): string {
  return randomBytes(6).toString('hex');
}

/** One call over a kept connection; resolves when the answer is read. */
function post(agent: Agent, url: string, headers: Record<string, string>, body: object): Promise<void> {
  return new Promise((resolve, reject) => {
    const req = request(url, { method: 'POST', agent, headers }, (res) => {
      res.resume().on('end', () => resolve());
    });
    req.on('error', reject);
    req.end(JSON.stringify(body));
  });
}

it('keeps its series under random models, paths, keys, tenants, fields and trace headers', async () => {
  const { url, journal } = await startGateway({
    // Every key is somebody's: the tenants are as random as the keys.
    router: {
      authenticate: ({ headers }) =>
        headers['x-api-key'] === undefined ? null : { tenant: String(headers['x-api-key']) },
    },
    after: [(_req: Request, res: Response) => void res.status(404).end()],
    mountPath: '/:anything',
  });
  const base = `${url}/a`;
  const before = await scrape(base);
  const agent = new Agent({ keepAlive: true, maxSockets: 8 });
  const json = { 'content-type': 'application/json' };
  const rounds = Array.from({ length: ROUNDS }, async (_, at) => {
    const tenant: Record<string, string> = { ...json, 'x-api-key': random() };
    const mount = `${url}/${random()}`;
    if (at % 4 === 0) await post(agent, mount + CHAT, tenant, { ...CHAT_BODY, model: random() });
    if (at % 4 === 1) await post(agent, `${mount}/v1/${random()}`, tenant, CHAT_BODY);
    if (at % 4 === 2) await post(agent, mount + CHAT, { ...json, authorization: `Bearer ${random()}` }, {});
    if (at % 4 === 3) {
      const headers = { ...tenant, 'x-request-id': random(), tracestate: `${random()}=1` };
      const body = at % 40 === 3 ? CHAT_BODY : { [random()]: random() };
      await post(agent, mount + CHAT, headers, { ...body, user: random() });
    }
  });
  await Promise.all(rounds);
  agent.destroy();
  await journal.waitForRows((ROUNDS / 4) * 3);
  const after = await scrape(base);
  expect(after.series).toEqual(before.series);
  expect(after.sum('narwhal_requests_total')).toBe((ROUNDS / 4) * 3);
  expect(after.sum('narwhal_requests_total', { terminal: 'invalid', reason: 'model' })).toBe(ROUNDS / 4);
  expect(after.sum('narwhal_requests_total', { reason: 'unauthenticated' })).toBe(ROUNDS / 4);
  expect((await call(`${base}/metrics`, { method: 'GET' })).text.length).toBeLessThan(100_000);
});
