/** Two routers in one process share nothing but what the host gives to both. */
import { createFleet, narwhalRouter } from '../../lib/index';
import type { StubFleet } from '../../lib/testing/index';
import { CHAT, CHAT_BODY, call } from '../helpers/call';
import { captureJournal } from '../helpers/capture-journal';
import { captureLogger } from '../helpers/capture-logger';
import { closeLater } from '../helpers/close-all';
import { express4, listen } from '../helpers/create-app';
import { openStubFleet } from '../helpers/open-stub-fleet';

describe('two routers in one process', () => {
  it('share nothing: fleet, keys, journal, seats, end', async () => {
    const [red, blue] = [
      await openStubFleet({ model: 'red/model' }),
      await openStubFleet({ model: 'blue/model' }),
    ];
    const make = (fleet: StubFleet, key: string) => {
      const journal = captureJournal();
      const logger = captureLogger();
      const file = fleet.fleetFile({ serving: { max_connections: 1 } });
      const router = closeLater(
        narwhalRouter({ fleet: file, journal, logger, apiKeys: { [key]: { tenant: key } } }),
      );
      return { journal, router };
    };
    const [one, two] = [make(red, 'red'), make(blue, 'blue')];
    const app = express4();
    app.use('/red', one.router);
    app.use('/blue', two.router);
    const { url } = await listen(app);
    const post = (color: string, key: string, model?: string) =>
      call(`${url}/${color}${CHAT}`, {
        headers: { authorization: `Bearer ${key}` },
        body: { messages: CHAT_BODY.messages, ...(model !== undefined && { model }) },
      });
    expect((await post('red', 'red', 'red/model')).status).toBe(200);
    expect((await post('blue', 'blue', 'blue/model')).status).toBe(200);
    expect((await post('red', 'blue')).status).toBe(401);
    expect((await post('red', 'red', 'blue/model')).status).toBe(404);
    expect(red.calls.every(({ json }) => json?.['model'] === 'red/model')).toBe(true);
    expect([red.calls.length, blue.calls.length]).toEqual([2, 2]);
    await one.router.close();
    expect((await post('red', 'red')).status).toBe(503);
    expect((await post('blue', 'blue')).status).toBe(200);
    expect(two.router.state()).toMatchObject({ status: 'serving', model: 'blue/model' });
    expect(one.router.state()).toMatchObject({ status: 'draining', model: 'red/model' });
    await two.router.close();
    expect(new Set(two.journal.rows.map(({ tenant }) => tenant))).toEqual(new Set(['blue']));
    expect(two.journal.rows).toHaveLength(2);
    const runs = new Set([...one.journal.rows, ...two.journal.rows].map(({ run }) => run));
    expect(runs.size).toBe(2);
  });

  it('may share a fleet that the host has made; closing one leaves it open', async () => {
    const stub = await openStubFleet();
    const fleet = closeLater(createFleet(stub.fleetFile()));
    const one = closeLater(narwhalRouter({ fleet, journal: false }));
    const two = closeLater(narwhalRouter({ fleet, journal: false }));
    const app = express4();
    app.use('/one', one);
    app.use('/two', two);
    const { url } = await listen(app);
    await one.close();
    expect((await call(`${url}/one${CHAT}`, { body: CHAT_BODY })).status).toBe(503);
    expect((await call(`${url}/two${CHAT}`, { body: CHAT_BODY })).status).toBe(200);
  });
});
