/** Every deadline is the gateway's own, and each has its status, its words and its reason. */
import axios from 'axios';
import type { StubScript } from '../../lib/testing';
import { parseSse } from '../helpers/parse-sse';
import { openBlackHole } from './black-hole';
import { BODY, errorOf, type Setup, startGateway, until } from './gateway';

interface Deadline {
  readonly engine?: object;
  readonly serving?: object;
  readonly script: StubScript;
  readonly leg: 'prefill' | 'decode';
  readonly message: string;
  /** The prefill answer, with its handoff, never reached the router. */
  readonly untold?: number;
}

const DEADLINES: [string, Deadline][] = [
  [
    'prefill_timeout_s',
    {
      serving: { prefill_timeout_s: 0.1 },
      script: { leg: 'prefill', hang: true },
      leg: 'prefill',
      message: 'the prefill engine did not answer within prefill_timeout_s',
    },
  ],
  [
    'first_token_timeout_s before the head',
    {
      engine: { first_token_timeout_s: 0.1 },
      script: { leg: 'decode', hang: true },
      leg: 'decode',
      message: 'the decode engine sent no output within first_token_timeout_s',
    },
  ],
  [
    'first_token_timeout_s behind the role',
    {
      engine: { first_token_timeout_s: 0.1 },
      script: { leg: 'decode', hangAfterFrames: 1 },
      leg: 'decode',
      message: 'the decode engine sent no output within first_token_timeout_s',
    },
  ],
];

function setupOf({ engine = {}, serving = {} }: Pick<Deadline, 'engine' | 'serving'>): Setup {
  return { file: { engine, serving: { max_attempts: 1, ...serving } } };
}

describe.each([false, true])('before any output (stream: %s)', (stream) => {
  it.each(DEADLINES)('%s is a 504 that names it', async (_name, deadline) => {
    const gateway = await startGateway(setupOf(deadline));
    gateway.fleet.script = deadline.script;
    const reply = await gateway.post({ ...BODY, stream });
    expect(reply.status).toBe(504);
    expect(reply.headers['x-narwhal-reason']).toBe('engine_timeout');
    const { leg, message } = deadline;
    expect(errorOf(reply)).toEqual({ message, type: leg, param: null, code: leg });
    expect(await gateway.row()).toMatchObject({ terminal: 'failed', reason: 'engine_timeout', status: 504 });
    await until(() => gateway.legs().at(-1)?.closedEarly === true);
  });

  it('connect_timeout_s is a 504 that names it', async () => {
    const port = await openBlackHole();
    const gateway = await startGateway({
      stub: { prefill: 0 },
      file: {
        engines: [
          { iid: 'p0', url: `http://127.0.0.1:${port}`, role: 'prefill' },
          { iid: 'd0', url: 'http://127.0.0.1:1', role: 'decode' },
        ],
        engine: { connect_timeout_s: 0.2 },
        serving: { max_attempts: 1 },
      },
    });
    const reply = await gateway.post({ ...BODY, stream });
    expect(reply.status).toBe(504);
    expect(errorOf(reply)).toMatchObject({
      type: 'prefill',
      message: 'the prefill engine could not be reached within connect_timeout_s',
    });
    expect(await gateway.row()).toMatchObject({ terminal: 'failed', reason: 'engine_timeout' });
  });

  it('pool_timeout_s is a 504 that names it, and says nothing against the engine', async () => {
    const client = axios.create();
    client.interceptors.request.use(() => new Promise(() => undefined));
    const gateway = await startGateway({
      ...setupOf({ engine: { connect_timeout_s: 0.05, pool_timeout_s: 0.05 } }),
      router: { client },
    });
    for (let i = 0; i < 4; i++) {
      const reply = await gateway.post({ ...BODY, stream });
      expect(reply.status).toBe(504);
      expect(reply.headers['x-narwhal-reason']).toBe('local_pool');
      expect(errorOf(reply)['message']).toBe(
        'the prefill engine had no free connection within pool_timeout_s',
      );
    }
    expect(await gateway.row()).toMatchObject({ terminal: 'failed', reason: 'local_pool', status: 504 });
    expect(gateway.stateOf('p0').state).toBe('live');
  });

  it.each(['prefill', 'decode'] as const)('request_timeout_s is request_expired in %s', async (leg) => {
    const gateway = await startGateway(setupOf({ serving: { request_timeout_s: 0.3 } }));
    gateway.fleet.script = { leg, hang: true };
    const reply = await gateway.post({ ...BODY, stream });
    expect(reply.status).toBe(504);
    expect(errorOf(reply)).toMatchObject({ type: 'request_expired', code: 'request_expired' });
    expect(await gateway.row()).toMatchObject({ terminal: 'expired', reason: 'deadline', status: 504 });
    // Nobody's fault: the request's own time was over.
    expect(gateway.stateOf('p0')).toMatchObject({ state: 'live', ejections: 0 });
    await until(() => gateway.legs().at(-1)?.closedEarly === true);
  });
});

describe('after the first output', () => {
  it('decode_read_timeout_s ends a stream with a frame, and an assembled answer with 504', async () => {
    const gateway = await startGateway(setupOf({ engine: { decode_read_timeout_s: 0.1 } }));
    gateway.fleet.script = { leg: 'decode', hangAfterFrames: 3 };
    const message = 'the decode engine sent nothing for decode_read_timeout_s';
    const { frames, done } = parseSse((await gateway.post({ ...BODY, stream: true })).text);
    expect(done).toBe(false);
    expect(frames.at(-1)).toEqual({ error: { message, type: 'decode', param: null, code: 'expired' } });
    const whole = await gateway.post(BODY);
    expect(whole.status).toBe(504);
    expect(errorOf(whole)['message']).toBe(message);
    for (const row of await gateway.journal.waitForRows(2)) {
      expect(row).toMatchObject({ terminal: 'failed', reason: 'engine_timeout', kv: 'claimed' });
    }
  });

  it('request_timeout_s ends a running stream with an expired frame', async () => {
    const gateway = await startGateway(setupOf({ serving: { request_timeout_s: 0.4 } }));
    gateway.fleet.script = {
      leg: 'decode',
      generation: { content: Array.from({ length: 200 }, () => ' word') },
      frameDelayMs: 20,
    };
    const { frames, done } = parseSse((await gateway.post({ ...BODY, stream: true })).text);
    expect(done).toBe(false);
    expect(frames.at(-1)).toMatchObject({ error: { code: 'expired' } });
    expect(await gateway.row()).toMatchObject({ terminal: 'expired', reason: 'deadline', status: 200 });
    await until(() => gateway.legs('d0')[0]?.closedEarly === true);
  });
});

describe('limits that are set to 0', () => {
  it('do not cut long silences, and neither does anything below them', async () => {
    const gateway = await startGateway({
      file: { engine: { first_token_timeout_s: 0, decode_read_timeout_s: 0 } },
    });
    gateway.fleet.script = (call) =>
      call.leg === 'prefill' ? { delayMs: 700 } : { delayMs: 700, frameDelayMs: 150 };
    const { done } = parseSse((await gateway.post({ ...BODY, stream: true })).text);
    expect(done).toBe(true);
    expect(await gateway.row()).toMatchObject({ terminal: 'completed', attempts: 1 });
  });
});
