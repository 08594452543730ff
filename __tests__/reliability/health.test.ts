/** Which evidence takes an engine out of placement, and what brings it back. */
import type { StubCall, StubScript } from '../../lib/testing';
import { StreamClient } from '../integration/stream-client';
import { BODY, CHAT, startGateway, until, type WatchedGateway } from './gateway';

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

const isProbe = ({ leg, requestId }: StubCall): boolean => leg === 'health' || requestId.includes('probe');

/** Sends requests one by one until an engine is out, at most `most`. */
async function wear(gateway: WatchedGateway, iid: string, most = 12): Promise<void> {
  for (let i = 0; i < most && gateway.stateOf(iid).state === 'live'; i++) await gateway.post(BODY);
}

describe('three failures in a row', () => {
  const FAILURES: [string, string, StubScript][] = [
    ['inference_status', 'd0', { status: 500 }],
    ['inference_status', 'd0', { status: 401 }],
    ['inference_status', 'p0', { status: 502 }],
    ['timeout', 'd0', { hang: true }],
    ['timeout', 'p0', { status: 504 }],
    ['stream', 'd0', { resetAfterFrames: 1 }],
    ['stream', 'd0', { rawFrames: ['{"oops"'] }],
    ['connection', 'd0', { resetAfterFrames: 0 }],
    ['kv_handoff', 'p0', { noHandoff: true }],
  ];

  it.each(FAILURES)('of class %s take %s out of placement: %j', async (suspicion, iid, script) => {
    const gateway = await startGateway({
      stub: { prefill: 2, decode: 2 },
      file: { ...STILL, engine: { first_token_timeout_s: 0.6 } },
    });
    const engine = gateway.fleet.engine(iid);
    engine.script = script;
    await wear(gateway, iid);
    expect(gateway.stateOf(iid)).toMatchObject({ state: 'ejected', suspicion, ejections: 1 });
    // A row waits for the reclaim of its handoff.
    await until(() => gateway.router.state().in_flight === 0);
    const failed = gateway.journal.rows.filter(({ terminal }) => terminal === 'failed');
    expect(failed).toHaveLength(3);
    // Nothing more is sent there.
    const before = gateway.legs(iid).length;
    for (let i = 0; i < 4; i++) expect((await gateway.post(BODY)).status).toBe(200);
    expect(gateway.legs(iid)).toHaveLength(before);
  });

  it('do not, where one between was good', async () => {
    const gateway = await startGateway({ stub: { decode: 2 }, file: STILL });
    let served = 0;
    gateway.fleet.engine('d0').script = ({ requestId }) =>
      requestId.endsWith('-decode') && served++ % 3 > 0 ? { status: 500 } : undefined;
    for (let i = 0; i < 20; i++) await gateway.post(BODY);
    expect(served).toBeGreaterThanOrEqual(9);
    expect(gateway.stateOf('d0')).toMatchObject({ state: 'live', ejections: 0 });
  });
});

describe('what is no fault of the engine', () => {
  it.each([400, 404, 422, 429, 503])('does not count: %i', async (status) => {
    const gateway = await startGateway({ stub: { decode: 2 }, file: STILL });
    gateway.fleet.script = ({ leg, requestId }) =>
      leg === 'decode' && !requestId.endsWith('-reclaim') ? { status, retryAfter: 0 } : undefined;
    for (let i = 0; i < 20; i++) await gateway.post(BODY);
    for (const { state, ejections } of gateway.router.state().engines) {
      expect({ state, ejections }).toEqual({ state: 'live', ejections: 0 });
    }
    gateway.fleet.script = undefined;
    await until(() => gateway.router.state().in_flight === 0);
    expect((await gateway.post(BODY)).status).toBe(200);
  });

  it('and a refused key counts and is reported, without the key', async () => {
    const gateway = await startGateway({ stub: { decode: 2 }, file: STILL });
    gateway.fleet.engine('d0').script = { status: 401 };
    await wear(gateway, 'd0');
    expect(gateway.stateOf('d0')).toMatchObject({ state: 'ejected', suspicion: 'inference_status' });
    const errors = gateway.logger.lines.filter(({ level }) => level === 'error');
    expect(errors.map(({ message }) => message)).toContain('an engine does not accept the engine key');
    await until(() => gateway.router.state().in_flight === 0);
    expect(gateway.journal.rows.filter(({ reason }) => reason === 'engine_auth')).toHaveLength(3);
  });
});

describe('the last engine of a role', () => {
  it('is kept, however it fails', async () => {
    const gateway = await startGateway({ file: STILL });
    gateway.fleet.engine('d0').script = { status: 500 };
    for (let i = 0; i < 8; i++) expect((await gateway.post(BODY)).status).toBe(502);
    expect(gateway.stateOf('d0')).toMatchObject({ state: 'live', ejections: 0 });
    gateway.fleet.engine('d0').script = undefined;
    expect((await gateway.post(BODY)).status).toBe(200);
  });

  it('is taken out where its connections are refused, and back when it answers', async () => {
    const gateway = await startGateway({ file: KEEN });
    await gateway.fleet.engine('d0').stop();
    await until(() => gateway.stateOf('d0').state === 'ejected');
    expect((await fetch(`${gateway.url}/ready`)).status).toBe(503);
    const refused = await gateway.post(BODY);
    expect(refused.status).toBe(503);
    expect(refused.headers['retry-after']).toBe('1');
    await gateway.fleet.engine('d0').start();
    await until(() => gateway.stateOf('d0').state === 'live');
    expect((await fetch(`${gateway.url}/ready`)).status).toBe(200);
    expect((await gateway.post(BODY)).status).toBe(200);
  });
});

describe('an engine that is out', () => {
  it('comes back only when a one-token request works, not when /health answers', async () => {
    const gateway = await startGateway({ stub: { decode: 2 }, file: KEEN });
    const engine = gateway.fleet.engine('d0');
    engine.script = ({ leg }) => (leg === 'health' ? undefined : { status: 500 });
    await wear(gateway, 'd0');
    const probes = (): number => engine.calls.filter((call) => isProbe(call) && call.leg !== 'health').length;
    await until(() => probes() >= 2);
    expect(gateway.stateOf('d0').state).toBe('ejected');
    engine.script = undefined;
    await until(() => gateway.stateOf('d0').state === 'live');
    expect(gateway.logger.lines.map(({ message }) => message)).toContain('an engine is back in placement');
  });

  it('is out again at its first failure, until a good leg has made it trusted', async () => {
    const gateway = await startGateway({ stub: { decode: 2 }, file: KEEN });
    const engine = gateway.fleet.engine('d0');
    // Probes are answered, requests are not.
    engine.script = (call) => (isProbe(call) ? undefined : { status: 500 });
    await wear(gateway, 'd0');
    expect(engine.calls.filter((call) => gateway.legs('d0').includes(call))).toHaveLength(3);
    await until(() => gateway.stateOf('d0').state === 'live');
    await wear(gateway, 'd0');
    expect(gateway.legs('d0')).toHaveLength(4);
    expect(gateway.stateOf('d0').ejections).toBe(2);
    engine.script = undefined;
    await until(() => gateway.stateOf('d0').state === 'live');
    for (let i = 0; i < 4; i++) await gateway.post(BODY);
    engine.script = (call) => (isProbe(call) ? undefined : { status: 500 });
    const before = gateway.legs('d0').length;
    await wear(gateway, 'd0');
    expect(gateway.legs('d0').length - before).toBe(3);
  });

  it('is not probed before its quarantine is over', async () => {
    const gateway = await startGateway({
      stub: { decode: 2 },
      file: { ...KEEN, recovery: { ...KEEN.recovery, failure_quarantine_s: 1000 } },
    });
    const engine = gateway.fleet.engine('d0');
    engine.script = { status: 500 };
    await wear(gateway, 'd0');
    engine.script = undefined;
    const checks = async (): Promise<void> => {
      const { calls } = gateway.fleet.engine('d1');
      const before = calls.length;
      await until(() => calls.length > before + 5);
    };
    // A check that was under way at the ejection may still arrive.
    await checks();
    const asked = engine.calls.length;
    await checks();
    expect(engine.calls.length).toBe(asked);
    expect(gateway.stateOf('d0').state).toBe('ejected');
  });

  it('finishes the streams that run on it', async () => {
    const gateway = await startGateway({ stub: { decode: 2 }, file: STILL });
    const engine = gateway.fleet.engine('d0');
    gateway.fleet.script = { leg: 'decode', frameDelayMs: 150 };
    const streams = [1, 2].map(() => new StreamClient(gateway.url + CHAT, { ...BODY, stream: true }));
    await Promise.all(streams.map((stream) => stream.sees('Heard')));
    expect(engine.inFlight).toBe(1);
    gateway.fleet.script = undefined;
    engine.script = { leg: 'decode', status: 500 };
    await wear(gateway, 'd0', 30);
    expect(gateway.stateOf('d0').state).toBe('ejected');
    for (const stream of streams) await stream.sees('[DONE]');
  });
});
