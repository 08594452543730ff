/** Health checks beside running work, and how work spreads. */
import { StreamClient } from '../integration/stream-client';
import { BODY, CHAT, startGateway, until } from './gateway';

/** No retries, and no probe within a test, unless a test asks for them. */
const STILL = {
  serving: { max_attempts: 1 },
  recovery: { liveness_every: 100_000, readmit_every: 100_000 },
};
/** A monitor that looks all the time. */
const KEEN = {
  serving: { max_attempts: 1 },
  recovery: { liveness_every: 1, readmit_every: 1 },
  controller: { monitor_interval_s: 0.02 },
  engine: { health_timeout_s: 0.2 },
};

describe('health checks', () => {
  it('take out an engine that does not answer them, without any traffic', async () => {
    const gateway = await startGateway({ stub: { decode: 2 }, file: KEEN });
    gateway.fleet.engine('d1').script = { leg: 'health', hang: true };
    await until(() => gateway.stateOf('d1').state === 'ejected');
    expect(gateway.stateOf('d1').suspicion).toBe('liveness');
    expect(gateway.stateOf('d0').state).toBe('live');
    gateway.fleet.engine('d1').script = undefined;
    await until(() => gateway.stateOf('d1').state === 'live');
  });

  it('leave the counts of running work alone: streams spread evenly', async () => {
    const gateway = await startGateway({ stub: { decode: 2 }, file: KEEN });
    gateway.fleet.script = { leg: 'decode', hangAfterFrames: 3 };
    const start = async (): Promise<StreamClient[]> => {
      const some = Array.from(
        { length: 4 },
        () => new StreamClient(gateway.url + CHAT, { ...BODY, stream: true }),
      );
      await Promise.all(some.map((stream) => stream.sees('nonce-abc')));
      return some;
    };
    const first = await start();
    const checks = (): number => gateway.fleet.calls.filter(({ leg }) => leg === 'health').length;
    const before = checks();
    await until(() => checks() > before + 12);
    expect(gateway.stateOf('d0').decodes_in_flight).toBe(2);
    const second = await start();
    expect([gateway.legs('d0').length, gateway.legs('d1').length]).toEqual([4, 4]);
    for (const stream of [...first, ...second]) stream.leave();
  });
});

describe('load', () => {
  it('is counted from dispatch, in prefill too', async () => {
    const gateway = await startGateway({ stub: { prefill: 2, prefillDelayMs: 300 } });
    await Promise.all(Array.from({ length: 10 }, () => gateway.post(BODY)));
    expect(gateway.legs('p0')).toHaveLength(5);
    expect(gateway.legs('p1')).toHaveLength(5);
  });

  it('of a hung engine is not put on others: they serve, and it is taken out', async () => {
    const gateway = await startGateway({
      stub: { decode: 2 },
      file: {
        ...STILL,
        serving: { max_attempts: 2 },
        engine: { first_token_timeout_s: 0.3 },
      },
    });
    gateway.fleet.engine('d0').script = { hang: true };
    const replies = await Promise.all(Array.from({ length: 20 }, () => gateway.post(BODY)));
    expect(replies.map(({ status }) => status)).toEqual(Array(20).fill(200));
    expect(gateway.stateOf('d0')).toMatchObject({ state: 'ejected', suspicion: 'timeout' });
  });
});
