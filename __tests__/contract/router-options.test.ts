/** A bad option throws at once; a good one has the effect that it names. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { Seats } from '../../lib/admission/seats';
import { Fleet } from '../../lib/engines/fleet';
import { ConfigError, createFleet, type NarwhalRouterOptions, narwhalRouter } from '../../lib/index';
import { thrownBy } from '../helpers/alone';
import { CHAT, CHAT_BODY, call, envelopeOf } from '../helpers/call';
import { captureLogger } from '../helpers/capture-logger';
import { closeLater } from '../helpers/close-all';
import { startGateway } from '../helpers/create-app';

const FLEET = { model: 'm', engines: [{ iid: 'b0', url: 'http://127.0.0.1:9', role: 'both' }] };

function make(options: object): () => unknown {
  return () =>
    closeLater(narwhalRouter({ fleet: FLEET, journal: false, ...options } as NarwhalRouterOptions));
}

describe('narwhalRouter', () => {
  it.each([
    [{ apiKey: ['k'] }, 'narwhalRouter: unknown option apiKey (did you mean apiKeys?)'],
    [{ modelGard: false }, 'narwhalRouter: unknown option modelGard (did you mean modelGuard?)'],
    [{ closeTimeoutS: -1 }, 'narwhalRouter: closeTimeoutS must be at least 0'],
    [{ closeTimeoutS: null }, 'narwhalRouter: closeTimeoutS must be a number'],
    [{ closeTimeoutS: 86_400.5 }, 'narwhalRouter: closeTimeoutS must be at most 86400'],
    [{ logger: {} }, 'narwhalRouter: logger must have the functions debug, info, warn and error'],
    [{ logger: null }, 'narwhalRouter: logger must have the functions debug, info, warn and error'],
    [
      { logger: { info: () => undefined } },
      'narwhalRouter: logger must have the functions debug, info, warn and error',
    ],
    [{ authStrip: true }, 'narwhalRouter: authStrip must be an object of options, or false'],
    [{ modelGuard: ['m'] }, 'narwhalRouter: modelGuard must be an object of options, or false'],
    [{ outputGuard: null }, 'narwhalRouter: outputGuard must be an object of options, or false'],
    [{ dispatchEngine: 'next' }, 'narwhalRouter: dispatchEngine must be an object of options, or false'],
    [{ dispatchEngine: { onEror: 'next' } }, 'dispatchEngine: unknown option onEror (did you mean onError?)'],
    [{ dispatchEngine: { onError: 'x' } }, 'dispatchEngine: onError must be one of answer, next'],
    [{ samplingGuard: { maxByte: 1 } }, 'samplingGuard: unknown option maxByte (did you mean maxBytes?)'],
    [{ admissionGate: { maxConnections: 0 } }, 'admissionGate: maxConnections must be at least 1'],
    [{ apiKeys: ['k'], authenticate: () => null }, 'authStrip: give apiKeys or authenticate, not both'],
    [{ apiKeys: [] }, 'apiKeys must hold at least one key'],
    [
      { authStrip: false, apiKeys: ['k'] },
      'narwhalRouter: authStrip: false leaves apiKeys and authenticate without effect',
    ],
    [
      { apiKeys: ['k'], authStrip: { apiKeys: ['l'] } },
      'narwhalRouter: apiKeys is given twice, beside authStrip and in it: leave one out',
    ],
    [{ inspection: true }, 'inspection: options must be an object'],
    [{ inspection: { gaurd: () => true } }, 'inspection: unknown option gaurd (did you mean guard?)'],
  ])('refuses %j at once', (options, message) => {
    const error = thrownBy(make(options));
    expect(error).toBeInstanceOf(ConfigError);
    expect(error?.message).toBe(message);
  });

  it('refuses a check of who it is that is given twice', () => {
    const authenticate = (): null => null;
    const error = thrownBy(make({ authenticate, authStrip: { authenticate } }));
    expect(error).toBeInstanceOf(ConfigError);
    expect(error?.message).toBe(
      'narwhalRouter: authenticate is given twice, beside authStrip and in it: leave one out',
    );
  });

  it.each([
    [
      { fleeet: 1, jurnal: 2 },
      'narwhalRouter',
      ['unknown option fleeet (did you mean fleet?)', 'unknown option jurnal (did you mean journal?)'],
    ],
    [
      { authStrip: true, modelGuard: 5 },
      'narwhalRouter',
      [
        'authStrip must be an object of options, or false',
        'modelGuard must be an object of options, or false',
      ],
    ],
    [
      { admissionGate: { maxConnections: 0, queueCapacity: 1.5, maxDelayS: 'x', stateFile: '' } },
      'admissionGate',
      [
        'maxConnections must be at least 1',
        'queueCapacity must be a whole number',
        'maxDelayS must be a number',
        'stateFile must be a path',
      ],
    ],
    [
      { journal: { path: '', maxFiles: 0 } },
      'journal',
      ['path must be the name of a file', 'maxFiles must be at least 1'],
    ],
  ])('tells of everything that is wrong with %j at once', (options, owner, problems) => {
    const error = thrownBy(make(options)) as ConfigError;
    expect(error).toBeInstanceOf(ConfigError);
    expect(error.problems).toEqual(problems);
    expect(error.message.split('\n')).toEqual([
      `${owner}: ${problems.length} problems`,
      ...problems.map((problem) => `  - ${problem}`),
    ]);
  });

  it('throws an error that a console prints without an empty list, and no problem twice', () => {
    const [one, two] = [{ closeTimeoutS: -1 }, { fleeet: 1, jurnal: 2 }].map((bad) => thrownBy(make(bad)));
    expect(inspect(one)).toContain('ConfigError: narwhalRouter: closeTimeoutS must be at least 0');
    expect(inspect(one)).not.toContain('problems: [');
    expect(inspect(two).match(/unknown option fleeet/g)).toHaveLength(1);
  });

  it.each([5, true, {}, null, { path: 5 }, { write: () => undefined }])(
    'refuses %j as a journal',
    (journal) => {
      expect(thrownBy(make({ journal }))).toBeInstanceOf(ConfigError);
    },
  );

  it.each([null, [], {}, { model: 'm', engines: [] }, './no-such-fleet.json'])(
    'refuses %j as a fleet',
    (fleet) => {
      expect(thrownBy(make({ fleet }))).toBeInstanceOf(ConfigError);
    },
  );

  it.each([0, 86_400])('takes %i seconds for closeTimeoutS: a day is the most', (closeTimeoutS) => {
    expect(thrownBy(make({ closeTimeoutS }))).toBeNull();
  });

  it('takes undefined for every option as not given', () => {
    const names = ['apiKeys', 'authenticate', 'logger', 'client', 'inspection', 'closeTimeoutS', 'authStrip'];
    const parts = [
      'validateCompletion',
      'modelGuard',
      'samplingGuard',
      'outputGuard',
      'admissionGate',
      'dispatchEngine',
    ];
    const options = Object.fromEntries([...names, ...parts].map((name) => [name, undefined]));
    expect(thrownBy(make(options))).toBeNull();
  });

  it.each([{ samplingGuard: { maxBytes: 'x' } }, { journal: 5 }, { inspection: true }])(
    'leaves no fleet of its own open where an option is bad: %j',
    (options) => {
      const close = jest.spyOn(Fleet.prototype, 'close');
      expect(thrownBy(make(options))).toBeInstanceOf(ConfigError);
      expect(close).toHaveBeenCalledTimes(1);
      close.mockClear();
      const fleet = closeLater(createFleet(FLEET));
      expect(thrownBy(make({ ...options, fleet }))).toBeInstanceOf(ConfigError);
      expect(close).not.toHaveBeenCalled();
      close.mockRestore();
    },
  );

  it.each([
    [{ queue_capacity: 5 }, true],
    [{ queue_capacity: 5, queue_timeout_s: 0 }, true],
    [{ queue_capacity: 5, queue_timeout_s: 1 }, false],
    [{ queue_capacity: 0 }, false],
  ])('warns of a queue in which nobody waits: %j', (serving, isTold) => {
    const logger = captureLogger();
    make({ fleet: { ...FLEET, serving }, logger })();
    const words = 'serving.queue_capacity has no effect without serving.queue_timeout_s: nobody waits';
    expect(logger.lines.map(({ message }) => message)).toEqual(isTold ? [words] : []);
  });

  it('warns of parts of the fleet file that it does not act on', () => {
    const logger = captureLogger();
    make({ fleet: { ...FLEET, hardware: { gpus: 2 } }, logger })();
    expect(logger.lines).toEqual([
      {
        level: 'warn',
        message: 'the fleet file has parts that this package does not act on',
        fields: { ignored: ['hardware'] },
      },
    ]);
  });

  it('reads the fleet file that NARWHAL_FLEET names where it is given no fleet', () => {
    const before = process.env['NARWHAL_FLEET'];
    process.env['NARWHAL_FLEET'] = './none-of-this-name.json';
    const error = thrownBy(make({ fleet: undefined }));
    if (before === undefined) delete process.env['NARWHAL_FLEET'];
    else process.env['NARWHAL_FLEET'] = before;
    expect(error?.message).toContain('the fleet file ./none-of-this-name.json cannot be read');
  });

  it('opens no journal where another option is bad', () => {
    const folder = mkdtempSync(join(tmpdir(), 'narwhal-'));
    const journal = join(folder, 'rows.jsonl');
    for (const bad of [{ samplingGuard: { maxBytes: 'x' } }, { inspection: true }]) {
      expect(thrownBy(make({ journal, ...bad }))).toBeInstanceOf(ConfigError);
    }
    expect(existsSync(journal)).toBe(false);
    rmSync(folder, { recursive: true });
  });

  it.each<[string, NarwhalRouterOptions]>([
    ['limits of its own', { admissionGate: { maxConnections: 1 } }],
    [
      'seats of the host',
      { admissionGate: { seats: new Seats({ seats: 1, queueCapacity: 0, queueTimeoutS: 0 }) } },
    ],
  ])(
    'lets the gate have %s over those of the fleet file, and state() tells of them',
    async (_words, router) => {
      let reached: () => void = () => undefined;
      const waiting = new Promise<void>((resolve) => {
        reached = resolve;
      });
      const gateway = await startGateway({
        router,
        fleetFile: { serving: { max_attempts: 1 } },
        stub: { script: { leg: 'prefill', hang: true, onCall: () => reached() } },
      });
      const controller = new AbortController();
      const held = call(gateway.url + CHAT, { body: CHAT_BODY, signal: controller.signal }).catch(() => null);
      await waiting;
      expect(gateway.router.state()).toMatchObject({ seats_taken: 1, in_flight: 1 });
      expect((await call(gateway.url + CHAT, { body: CHAT_BODY })).status).toBe(429);
      controller.abort();
      await held;
    },
  );

  it.each<[keyof NarwhalRouterOptions, object]>([
    ['outputGuard', { audio: {} }],
    ['modelGuard', { model: 'other' }],
    ['validateCompletion', { max_completion_tokens: 4.5, max_tokens: 4 }],
  ])('leaves %s out with false', async (name, members) => {
    const body = { ...CHAT_BODY, ...members };
    const strict = await startGateway();
    expect(envelopeOf(await call(strict.url + CHAT, { body })).type).toBe('invalid_request_error');
    // The engines' own rules are not the subject here.
    const open = await startGateway({ router: { [name]: false }, breachesExpected: true });
    await call(open.url + CHAT, { body });
    expect(open.fleet.calls.length).toBeGreaterThan(0);
    for (const { json } of open.fleet.calls) expect(json?.['model']).toBe('example/model');
  });

  it('lets every request in with authStrip false', async () => {
    const gateway = await startGateway({ router: { authStrip: false } });
    const headers = { authorization: 'Bearer anything' };
    expect((await call(gateway.url + CHAT, { body: CHAT_BODY, headers })).status).toBe(200);
    expect(JSON.stringify(gateway.fleet.calls.map(({ rawHeaders }) => rawHeaders))).not.toContain('anything');
  });
});
