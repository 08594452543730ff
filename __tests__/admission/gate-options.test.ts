/** The gate alone, with a fleet, a store and a file of the host. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import express from 'express';
import {
  type AdmissionGateOptions,
  admissionGate,
  authStrip,
  ConfigError,
  createFleet,
  dispatchEngine,
  type LimitStore,
  type NarwhalRouterOptions,
  narwhalContext,
  narwhalRouter,
  validateCompletion,
} from '../../lib/index';
import { thrownBy } from '../helpers/alone';
import { COMPLETIONS, call } from '../helpers/call';
import { closeLater } from '../helpers/close-all';
import { listen } from '../helpers/create-app';
import { openStubFleet } from '../helpers/open-stub-fleet';

const ENGINES = [{ iid: 'b', url: 'http://127.0.0.1:9', role: 'both' }];

describe('the options of admissionGate', () => {
  it.each([
    [{ maxDelayS: 0 }, 'admissionGate: maxDelayS must be at least 0.001'],
    [{ limitStore: {} }, 'admissionGate: limitStore.take must be a function'],
    [{ limitStore: null }, 'admissionGate: limitStore.take must be a function'],
    [
      { fleet: { model: 'm' } },
      'admissionGate: fleet must be made with createFleet(config) or loadFleet(path)',
    ],
    [{ stateFile: '' }, 'admissionGate: stateFile must be a path'],
    [{ stateFile: 'x.json' }, 'admissionGate: stateFile needs fleet, whose speed it keeps'],
    [{ logger: {} }, 'admissionGate: logger'],
  ])('are checked at once: %j', (options, words) => {
    const error = thrownBy(() => admissionGate(options as unknown as AdmissionGateOptions));
    expect(error).toBeInstanceOf(ConfigError);
    expect(error?.message).toContain(words);
  });

  it.each(['fleet', 'logger'])('do not take %s in narwhalRouter, which has its own', (name) => {
    const options = {
      fleet: { model: 'm', engines: ENGINES },
      journal: false,
      admissionGate: { [name]: {} },
    };
    const error = thrownBy(() => narwhalRouter(options as unknown as NarwhalRouterOptions));
    expect(error?.message).toContain(`unknown option ${name}`);
  });
});

describe('admissionGate in a pipeline by hand', () => {
  it('takes its limits and its prices from the fleet', async () => {
    const stub = await openStubFleet({ prefillDelayMs: 30 });
    const fleet = closeLater(
      createFleet(
        stub.fleetFile({
          slo: { ttft_s: 5 },
          serving: { admission: 'predictive', max_connections: 1, queue_capacity: 3, queue_timeout_s: 30 },
        }),
      ),
    );
    const folder = mkdtempSync(join(tmpdir(), 'narwhal-'));
    const app = express()
      .use(authStrip())
      .use(validateCompletion())
      .use(admissionGate({ fleet, stateFile: join(folder, 'speeds.json') }))
      .use(dispatchEngine({ fleet }));
    const { url } = await listen(app);
    for (let n = 0; n < 3; n++) {
      const replies = await Promise.all(
        Array.from({ length: 4 }, () =>
          call(url + COMPLETIONS, { body: { prompt: [1, 2, 3], max_tokens: 2 } }),
        ),
      );
      expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    }
    expect(fleet.engine('p0')?.speed.line).not.toBeNull();
    // A prompt that would take for ever at the speed that was seen.
    const refused = await call(url + COMPLETIONS, {
      body: { prompt: new Array(20_000).fill(1), max_tokens: 2 },
    });
    expect([refused.status, refused.headers['x-narwhal-reason']]).toEqual([429, 'prompt']);
    rmSync(folder, { recursive: true });
  });

  it('asks the store of the host, and tells it what to take', async () => {
    const asked: unknown[] = [];
    const limitStore: LimitStore = {
      take(tenant, draws, force) {
        asked.push([tenant, draws.map(({ name, cost }) => [name, cost]), force]);
        return { allowed: true, levels: draws.map(() => 5) };
      },
    };
    const app = express()
      .use(authStrip({ authenticate: () => ({ tenant: 'red', requestsPerMinute: 9, tokensPerMinute: 99 }) }))
      .use(validateCompletion())
      .use(admissionGate({ limitStore }))
      .use((req, res) => {
        res.json(narwhalContext(req)?.identity);
      });
    const { url } = await listen(app);
    const reply = await call(url + COMPLETIONS, { body: { prompt: [1, 2, 3], max_tokens: 40 } });
    expect(reply.headers['x-ratelimit-remaining-tokens']).toBe('5');
    while (asked.length < 3) await new Promise((resolve) => setImmediate(resolve));
    expect(asked).toEqual([
      [
        'red',
        [
          ['requests', 1],
          ['tokens', 0],
        ],
        false,
      ],
      [
        'red',
        [
          ['requests', 0],
          ['tokens', 43],
        ],
        false,
      ],
      // The host's handler has used nothing that the library knows of.
      ['red', [['tokens', -43]], true],
    ]);
  });
});
