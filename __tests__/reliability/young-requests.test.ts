/** A request that is over goes with the next young collection: nothing that lives long still names it. */
import { CHAT, CHAT_BODY, call } from '../helpers/call';
import { openStubFleet } from '../helpers/open-stub-fleet';
import { startChild } from './child';

/** A gateway that collects when it is told to, and says how much is in the old generation. */
const GATEWAY = `
  const v8 = require('node:v8');
  v8.setFlagsFromString('--expose-gc');
  const gc = require('node:vm').runInNewContext('gc');
  const { createFleet, createServer, narwhalRouter } = require('express-narwhal');
  const oldBytes = () => v8.getHeapSpaceStatistics().find((one) => one.space_name === 'old_space').space_used_size;
  process.once('message', (file) => {
    const router = narwhalRouter({ fleet: createFleet(file), journal: { write() {}, close() {} } });
    const server = createServer(require('express')().use(router));
    server.listen(0, '127.0.0.1', () => process.send(server.address().port));
    process.on('message', (kind) => {
      gc(kind === 'all' ? undefined : { type: 'minor' });
      process.send(oldBytes());
    });
  });`;

const ROUNDS = 15;
const REQUESTS = 48;
const AT_A_TIME = 8;
/** Bytes for each request: what is learned of code that still warms up. It is 1 KB, and was 3.6 KB with maps. */
const MAY_STAY = 2048;

test.each([
  ['one answer', CHAT_BODY],
  ['a stream', { ...CHAT_BODY, stream: true }],
])(
  'leaves nothing in the old generation: %s',
  async (_name, body) => {
    const fleet = await openStubFleet({ prefill: 1, decode: 1 });
    const gateway = startChild(GATEWAY);
    gateway.process.send(fleet.fleetFile());
    const url = `http://127.0.0.1:${await gateway.message<number>()}${CHAT}`;
    const collect = (kind: 'all' | 'young'): Promise<number> => {
      gateway.process.send(kind);
      return gateway.message<number>();
    };
    const load = async (): Promise<void> => {
      const client = async (): Promise<void> => {
        for (let sent = 0; sent < REQUESTS / AT_A_TIME; sent++)
          expect((await call(url, { body })).status).toBe(200);
      };
      await Promise.all(Array.from({ length: AT_A_TIME }, client));
    };

    for (let round = 0; round < ROUNDS; round++) await load();
    // Whatever lives as long as the process is old from here on. It happens in mid-load: nobody is idle then.
    const running = load();
    await collect('all');
    const before = await collect('all');
    await running;
    let after = 0;
    for (let round = 0; round < ROUNDS; round++) {
      await load();
      after = await collect('young');
    }
    expect((after - before) / (ROUNDS * REQUESTS)).toBeLessThan(MAY_STAY);
  },
  90_000,
);
