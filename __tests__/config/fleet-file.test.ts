import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { inspect } from 'node:util';
import fc from 'fast-check';
import { defaultFleetPath, loadFleetFile, parseFleet } from '../../lib/config/fleet-file';
import { ConfigError } from '../../lib/errors';
import { thrownBy } from '../helpers/alone';

const PREFILL = { iid: 'p0', url: 'http://10.0.0.1:8000', role: 'prefill' };
const DECODE = { iid: 'd0', url: 'http://10.0.0.2:8000', role: 'decode' };

function fleet(more: Record<string, unknown> = {}): Record<string, unknown> {
  return { model: 'example/model', engines: [PREFILL, DECODE], ...more };
}

function problemsOf(config: unknown, env: NodeJS.ProcessEnv = {}): readonly string[] {
  try {
    parseFleet(config, { env });
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    return (error as ConfigError).problems;
  }
  return [];
}

describe('parseFleet', () => {
  it('fills in every default', () => {
    const config = parseFleet(fleet(), { env: {} });
    expect(config).toEqual({
      model: 'example/model',
      engines: [
        { iid: 'p0', url: PREFILL.url, origin: PREFILL.url, prefix: '', role: 'prefill', pin: false },
        { iid: 'd0', url: DECODE.url, origin: DECODE.url, prefix: '', role: 'decode', pin: false },
      ],
      slo: null,
      serving: {
        maxConnections: 512,
        queueCapacity: 0,
        queueTimeoutS: 0,
        maxRequestBytes: 4_194_304,
        maxResponseBytes: 16_777_216,
        requestTimeoutS: 600,
        prefillTimeoutS: 120,
        maxAttempts: 2,
        retryBaseS: 0.1,
        retryCapS: 1,
        retryBudget: 10,
        retryReplenish: 0.1,
        admission: 'open',
        admissionMargin: 0,
        heartbeatS: 0,
      },
      engine: {
        dialect: 'vllm',
        connector: 'nixl',
        firstTokenTimeoutS: 30,
        decodeReadTimeoutS: 60,
        connectTimeoutS: 10,
        poolTimeoutS: 5,
        healthTimeoutS: 5,
        keepaliveS: 4,
        tokenize: false,
        tokenizeTimeoutS: 2,
        charsPerToken: 3.8,
        kvLeaseS: 30,
      },
      recovery: {
        ejectAfter: 3,
        livenessEvery: 10,
        livenessMisses: 2,
        readmitEvery: 10,
        failureQuarantineS: 0,
      },
      controller: { monitorIntervalS: 1 },
      ignored: [],
    });
    expect(config.engine.apiKey).toBeNull();
  });

  it('takes values from every section, with fractions', () => {
    const config = parseFleet(
      fleet({
        schema: 'narwhal.fleet',
        schema_version: 1,
        slo: { ttft_s: 1.5, tpot_s: null },
        serving: { request_timeout_s: 0.25, queue_capacity: 7, admission: 'shadow' },
        engine: { first_token_timeout_s: 0, decode_read_timeout_s: 0, tokenize: true },
        recovery: { eject_after: 5 },
        controller: { monitor_interval_s: 0.05 },
      }),
      { env: {} },
    );
    expect(config.slo).toEqual({ ttftS: 1.5, tpotS: null });
    expect(config.serving).toMatchObject({ requestTimeoutS: 0.25, queueCapacity: 7, admission: 'shadow' });
    expect(config.engine).toMatchObject({ firstTokenTimeoutS: 0, decodeReadTimeoutS: 0, tokenize: true });
    expect(config.recovery.ejectAfter).toBe(5);
    expect(config.controller.monitorIntervalS).toBe(0.05);
  });

  it('reports all problems in one error, each with its path', () => {
    const problems = problemsOf({
      model: '',
      engines: [PREFILL, { iid: 'p0', url: 'tcp://x', role: 'decoder', weight: 2 }, 'd1'],
      serving: { max_conections: 3, queue_capacity: 1.5, request_timeout_s: 0, admission: 'closed' },
      engine: { connect_timeout_s: '5', engine_api_key_env: 'ABSENT_KEY' },
      recovery: [],
      routing: {},
    });
    expect(problems).toEqual(
      expect.arrayContaining([
        'model: must not be empty',
        'engines[1].url: must be an http(s) URL, such as http://10.0.0.1:8000',
        'engines[1].iid: is already the iid of engines[0]',
        'engines[1].role: must be one of "prefill", "decode", "both"',
        'engines[1].weight: unknown key',
        'engines[2]: must be an object',
        'serving.max_conections: unknown key (did you mean max_connections?)',
        'serving.queue_capacity: must be a whole number',
        'serving.request_timeout_s: must be above 0',
        'serving.admission: must be one of "open", "predictive", "shadow"',
        'engine.connect_timeout_s: must be a number',
        'engine.engine_api_key_env: the environment variable ABSENT_KEY is not set',
        'recovery: must be an object',
        'routing: unknown key',
      ]),
    );
    expect(problems).toHaveLength(14);
  });

  it.each([
    [undefined, 'fleet: must be an object'],
    [[], 'fleet: must be an object'],
    ['{}', 'fleet: must be an object'],
    [{ engines: [PREFILL, DECODE] }, 'model: is required'],
    [{ model: 'm' }, 'engines: is required'],
    [fleet({ engines: [] }), 'engines: must not be empty'],
    [fleet({ engines: [{ ...PREFILL, iid: undefined }, DECODE] }), 'engines[0].iid: is required'],
    [fleet({ schema: 'other' }), 'schema: must be "narwhal.fleet"'],
    [fleet({ schema_version: 2 }), 'schema_version: must be 1'],
    [fleet({ schema_version: null }), 'schema_version: must be 1'],
    [fleet({ slo: { ttft_s: 0 } }), 'slo.ttft_s: must be above 0'],
    [fleet({ engine: { dialect: 'other' } }), 'engine.dialect: must be "vllm"'],
    [fleet({ engine: { chars_per_token: 0 } }), 'engine.chars_per_token: must be above 0'],
    [fleet({ engine: { keepalive_s: Number.NaN } }), 'engine.keepalive_s: must be a number'],
    [fleet({ serving: { 'a.b': 1 } }), 'serving["a.b"]: unknown key'],
    [fleet({ serving: { max_request_bytes: -1 } }), 'serving.max_request_bytes: must be at least 1'],
    [fleet({ engines: [{ ...PREFILL, pin: 'yes' }, DECODE] }), 'engines[0].pin: must be a boolean'],
  ])('names the one problem of case %#', (config, problem) => {
    expect(problemsOf(config)).toEqual([problem]);
  });

  it('refuses a deadline that a timer cannot hold', () => {
    expect(problemsOf(fleet({ serving: { request_timeout_s: 1e9 } }))).toEqual([
      'serving.request_timeout_s: must be at most 2147483',
    ]);
  });

  it.each([
    'serving.request_timeout_s',
    'serving.prefill_timeout_s',
    'engine.connect_timeout_s',
    'engine.pool_timeout_s',
    'engine.health_timeout_s',
    'engine.tokenize_timeout_s',
    'engine.kv_lease_s',
    'controller.monitor_interval_s',
  ])('refuses 0 for %s', (path) => {
    const [section, key] = path.split('.') as [string, string];
    expect(problemsOf(fleet({ [section]: { [key]: 0 } }))).toEqual([`${path}: must be above 0`]);
  });

  it.each([
    'serving.queue_capacity',
    'serving.queue_timeout_s',
    'serving.retry_base_s',
    'serving.retry_replenish',
    'serving.admission_margin',
    'serving.heartbeat_s',
    'engine.first_token_timeout_s',
    'engine.decode_read_timeout_s',
    'recovery.failure_quarantine_s',
  ])('accepts 0 for %s and refuses less', (path) => {
    const [section, key] = path.split('.') as [string, string];
    expect(problemsOf(fleet({ [section]: { [key]: 0 } }))).toEqual([]);
    expect(problemsOf(fleet({ [section]: { [key]: -1 } }))).toEqual([`${path}: must be at least 0`]);
  });

  it('needs a prefill and a decode engine, or one that does both', () => {
    const wanted = ['engines: needs at least one prefill and one decode engine, or one of role both'];
    expect(problemsOf(fleet({ engines: [PREFILL] }))).toEqual(wanted);
    expect(problemsOf(fleet({ engines: [{ ...DECODE, role: undefined }] }))).toEqual(wanted);
    expect(problemsOf(fleet({ engines: [{ ...DECODE, role: 'both' }] }))).toEqual([]);
    expect(parseFleet(fleet({ engines: [PREFILL, { iid: 'd', url: 'http://h:1' }] })).engines[1]?.role).toBe(
      'decode',
    );
  });

  it.each(['', ' p', 'p\n', 'p\u00e9', 'x'.repeat(65), '\u200b'])('refuses the iid %j', (iid) => {
    expect(problemsOf(fleet({ engines: [{ ...PREFILL, iid }, DECODE] }))).toEqual([
      'engines[0].iid: must be 1 to 64 printable ASCII characters, with no blank at either end',
    ]);
  });

  it('accepts bracketed IPv6 engines and refuses bare ones before any request', () => {
    const engines = [
      { ...PREFILL, url: 'http://[::1]:8100/' },
      { ...DECODE, url: 'http://[fd00::2]:8200/pool' },
    ];
    expect(parseFleet(fleet({ engines })).engines).toMatchObject([
      { origin: 'http://[::1]:8100', prefix: '' },
      { origin: 'http://[fd00::2]:8200', prefix: '/pool' },
    ]);
    expect(problemsOf(fleet({ engines: [PREFILL, { ...DECODE, url: '::1' }] }))).toEqual([
      'engines[1].url: must be an http(s) URL; an IPv6 address stands in brackets, as in http://[::1]:8000',
    ]);
  });

  it('resolves a variable that is the whole url', () => {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the fleet file's own notation
    const engines = [PREFILL, { ...DECODE, url: '${D0_URL}' }];
    const config = parseFleet(fleet({ engines }), { env: { D0_URL: 'http://10.9.9.9:1/x/' } });
    expect(config.engines[1]).toMatchObject({
      url: 'http://10.9.9.9:1/x/',
      origin: 'http://10.9.9.9:1',
      prefix: '/x',
    });
    expect(problemsOf(fleet({ engines }))).toEqual([
      'engines[1].url: the environment variable D0_URL is not set',
    ]);
    expect(problemsOf(fleet({ engines }), { D0_URL: '' })).toEqual([
      'engines[1].url: the environment variable D0_URL is empty',
    ]);
  });

  it('names the variable, never its value, where the value is bad', () => {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the fleet file's own notation
    const engines = [PREFILL, { ...DECODE, url: '${D0_URL}' }];
    const [problem] = problemsOf(fleet({ engines }), { D0_URL: 'http://u:canary-1@h' });
    expect(problem).toMatch(/^engines\[1\]\.url: must not hold credentials.*\$\{D0_URL\}/);
    expect(problem).not.toContain('canary-1');
  });

  // biome-ignore lint/suspicious/noTemplateCurlyInString: the fleet file's own notation
  it.each(['http://${HOST}:8000', '${D0_URL}/', ' ${D0_URL}', '${}', '${A-B}'])(
    'refuses the partial variable %s',
    (url) => {
      const env = { HOST: 'h', D0_URL: 'http://h' };
      expect(problemsOf(fleet({ engines: [PREFILL, { ...DECODE, url }] }), env)).toEqual([
        'engines[1].url: a variable must be the whole URL, with nothing before or after it',
      ]);
    },
  );

  it('never changes what it is given, good or bad, nor keeps it', () => {
    const good = fleet({ serving: { queue_capacity: 2 }, _note: { a: [1] }, profiles: { x: {} } });
    const bad = { ...good, serving: { queue_capacity: '2' }, model: null };
    const before = structuredClone([good, bad]);
    const config = parseFleet(good, { env: {} });
    expect(problemsOf(bad)).toHaveLength(2);
    expect([good, bad]).toEqual(before);
    (good['engines'] as unknown[]).pop();
    (good['serving'] as Record<string, unknown>)['queue_capacity'] = 9;
    expect(config.engines).toHaveLength(2);
    expect(config.serving.queueCapacity).toBe(2);
  });

  it('takes a frozen object and returns one frozen to the depth', () => {
    const config = parseFleet(Object.freeze(fleet({ slo: { ttft_s: 1 } })), { env: {} });
    const walk = (value: unknown): void => {
      if (typeof value !== 'object' || value === null) return;
      expect(Object.isFrozen(value)).toBe(true);
      Object.values(value).forEach(walk);
    };
    walk(config);
  });

  it('accepts what it does not act on, at any level, and lists it', () => {
    const config = parseFleet(
      {
        ...fleet(),
        _comment: 'x',
        hardware: { gpu: 'h100' },
        engine_contract: {},
        profiles: [1],
        engines: [{ ...PREFILL, _rack: 4 }, DECODE],
        serving: { _why: 'y' },
        slo: { _from: 'z' },
      },
      { env: {} },
    );
    expect([...config.ignored].sort()).toEqual([
      '_comment',
      'engine_contract',
      'engines[0]._rack',
      'hardware',
      'profiles',
      'serving._why',
      'slo._from',
    ]);
  });

  it('treats a __proto__ key as a note and pollutes nothing', () => {
    const config = parseFleet(JSON.parse(JSON.stringify(fleet()).replace('{', '{"__proto__":{"pin":true},')));
    expect(config.ignored).toEqual(['__proto__']);
    expect(({} as Record<string, unknown>)['pin']).toBeUndefined();
    expect(config.engines[0]?.pin).toBe(false);
  });

  it('throws nothing but ConfigError, whatever it is given', () => {
    const section = fc.dictionary(
      fc.constantFrom('max_attempts', 'iid', 'url', 'role', '_x', 'y'),
      fc.jsonValue(),
    );
    const config = fc.record(
      {
        model: fc.jsonValue(),
        engines: fc.oneof(fc.array(section), fc.jsonValue()),
        serving: section,
        engine: section,
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(config, (value) => {
        try {
          parseFleet(value, { env: {} });
        } catch (error) {
          expect(error).toBeInstanceOf(ConfigError);
          for (const line of (error as ConfigError).problems)
            expect(line).toMatch(/^[\w.]+(\[.+\])?[^:]*: \S/);
        }
      }),
    );
  });
});

describe("the engines' key", () => {
  const withKey = fleet({ engine: { engine_api_key_env: 'FLEET_KEY' } });

  it('is read from the named variable', () => {
    expect(parseFleet(withKey, { env: { FLEET_KEY: 'canary-2' } }).engine.apiKey).toBe('canary-2');
    expect(parseFleet(fleet({ engine: { engine_api_key_env: '' } })).engine.apiKey).toBeNull();
  });

  it('appears in no JSON and no inspection of the config', () => {
    const config = parseFleet(withKey, { env: { FLEET_KEY: 'canary-2' } });
    const seen = [
      JSON.stringify(config),
      JSON.stringify(config.engine),
      inspect(config, { depth: 9 }),
      inspect(config, { depth: 9, showHidden: true }),
      Object.values(config.engine).join(),
    ];
    expect(seen.join('\n')).not.toContain('canary-2');
  });

  it.each([
    [{}, 'the environment variable FLEET_KEY is not set'],
    [{ FLEET_KEY: '' }, 'the environment variable FLEET_KEY is empty'],
    [{ FLEET_KEY: 'canary-3\n' }, 'the value of FLEET_KEY holds characters that cannot stand in a header'],
    [
      { FLEET_KEY: 'canary-3\u00fc' },
      'the value of FLEET_KEY holds characters that cannot stand in a header',
    ],
  ])('is a problem that is named and not repeated in case %#', (env, problem) => {
    expect(problemsOf(withKey, env)).toEqual([`engine.engine_api_key_env: ${problem}`]);
  });

  it('is not repeated where it was written in place of the name', () => {
    expect(problemsOf(fleet({ engine: { engine_api_key_env: 'sk-canary-4' } }))).toEqual([
      'engine.engine_api_key_env: must be the name of an environment variable, not the key itself',
    ]);
  });
});

describe('loadFleetFile', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'fleet-'));
  });
  afterEach(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  function file(content: string | Buffer): string {
    const path = join(folder, 'fleet.json');
    writeFileSync(path, content);
    return path;
  }

  it('reads a file, with or without a byte order mark', () => {
    const text = JSON.stringify(fleet(), null, 2);
    expect(loadFleetFile(file(text), { env: {} }).model).toBe('example/model');
    expect(loadFleetFile(file(`\ufeff${text}`), { env: {} }).model).toBe('example/model');
  });

  it('names the file, the line and the column of bad JSON, and repeats none of it', () => {
    const path = file('{\n  "model": "canary-5",\n  "engines": [,]\n}');
    expect(() => loadFleetFile(path)).toThrow(ConfigError);
    expect(() => loadFleetFile(path)).toThrow(`the fleet file ${path}, line 3, column 15: is not JSON`);
    expect(() => loadFleetFile(path)).not.toThrow(/canary-5/);
  });

  it('refuses a key that stands twice, which JSON.parse would let pass', () => {
    const path = file('{"model": "a",\n "model": "b"}');
    expect(() => loadFleetFile(path)).toThrow(/line 2, column 2: the key "model" stands twice/);
  });

  it('names a file that is not there, is a folder or is not UTF-8, once, and every way to name another', () => {
    const ways =
      'Name the file by the option fleet of narwhalRouter, the flag --fleet, or the variable NARWHAL_FLEET';
    const missing = join(folder, 'none.json');
    expect(() => loadFleetFile(missing)).toThrow(ConfigError);
    const messageOf = (path: string) => thrownBy(() => loadFleetFile(path))?.message;
    expect(messageOf(missing)).toBe(
      `the fleet file ${missing} cannot be read: there is no such file. ${ways}`,
    );
    expect(messageOf('./no/fleet.json')).toBe(
      `the fleet file ./no/fleet.json cannot be read: there is no such file in ${resolve('no')}. ${ways}`,
    );
    expect(messageOf(folder)).toBe(
      `the fleet file ${folder} cannot be read: it is a folder. Name the file in it by ${ways.slice('Name the file by '.length)}`,
    );
    expect(() => loadFleetFile(file(Buffer.from([0x22, 0xff, 0x22])))).toThrow('is not UTF-8');
    const below = join(file('{}'), 'fleet.json');
    expect(messageOf(below)).toContain(`the fleet file ${below} cannot be read: ENOTDIR`);
  });

  it('names the file above its problems', () => {
    const path = file('{"model": 1, "engines": []}');
    expect(() => loadFleetFile(path)).toThrow(
      `the fleet file ${path} has 2 problems\n  - model: must be a string\n  - engines: must not be empty`,
    );
  });
});

describe('defaultFleetPath', () => {
  it('is NARWHAL_FLEET, else fleet.json in the working folder', () => {
    expect(defaultFleetPath({ NARWHAL_FLEET: '/etc/fleet.json' })).toBe('/etc/fleet.json');
    expect(defaultFleetPath({ NARWHAL_FLEET: '' })).toBe('./fleet.json');
    expect(defaultFleetPath({})).toBe('./fleet.json');
  });
});
