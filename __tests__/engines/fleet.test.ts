/** The factories of a fleet, and what a host may do with one. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import axios from 'axios';
import { ConfigError, createFleet, type FleetOptions, loadFleet } from '../../lib/index';
import { thrownBy } from '../helpers/alone';
import { closeLater } from '../helpers/close-all';
import { openStubFleet } from '../helpers/open-stub-fleet';

const BOTH = { model: 'm', engines: [{ iid: 'b0', url: 'http://127.0.0.1:9', role: 'both' }] };
const SPLIT = {
  model: 'm',
  engines: [
    { iid: 'p0', url: 'http://127.0.0.1:9', role: 'prefill' },
    { iid: 'd0', url: 'http://127.0.0.1:10', role: 'decode' },
  ],
};

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fleet-'));
  writeFileSync(
    join(folder, 'fleet.json'),
    JSON.stringify({ ...BOTH, engine: { engine_api_key_env: 'KEY' } }),
  );
});
afterEach(() => rmSync(folder, { recursive: true }));

describe.each([
  ['createFleet', (options?: object) => createFleet(BOTH, options as FleetOptions)],
  [
    'loadFleet',
    (options?: object) => loadFleet(join(folder, 'fleet.json'), { env: { KEY: 'k' }, ...options }),
  ],
])('%s', (_name, make) => {
  it.each([null, {}, 'axios', () => undefined, { request: () => undefined }])(
    'refuses the client %p: the first request would be too late',
    (client) => {
      const error = thrownBy(() => make({ client }));
      expect(error).toBeInstanceOf(ConfigError);
      expect(error?.message).toBe('client must be an axios instance, e.g. axios.create()');
    },
  );

  it('keeps the client that it is given, and makes one where there is none', () => {
    const client = axios.create();
    expect(closeLater(make({ client })).client).toBe(client);
    expect(closeLater(make()).client.defaults.proxy).toBe(false);
  });
});

describe('loadFleet', () => {
  it.each([undefined, null, 5, BOTH])('takes a path, not %j', (path) => {
    const error = thrownBy(() => loadFleet(path as never));
    expect(error).toBeInstanceOf(ConfigError);
    expect(error?.message).toBe('fleet must be a path, the content of a fleet file, or a fleet');
  });

  it('looks for the key of the engines in the variables that it is given', () => {
    const error = thrownBy(() => loadFleet(join(folder, 'fleet.json'), { env: {} }));
    expect(error?.message).toContain('engine.engine_api_key_env');
  });
});

describe('createFleet', () => {
  it('looks for names in the variables that it is given, else in those of the process', () => {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the fleet file's own notation
    const url = '${NARWHAL_TEST_URL}';
    const config = { model: 'm', engines: [{ iid: 'b0', url, role: 'both' }] };
    expect(thrownBy(() => createFleet(config))).toBeInstanceOf(ConfigError);
    const fleet = closeLater(createFleet(config, { env: { NARWHAL_TEST_URL: 'http://127.0.0.1:9' } }));
    expect(fleet.engines.map(({ config: { origin } }) => origin)).toEqual(['http://127.0.0.1:9']);
  });
});

describe('a fleet', () => {
  it('says of a name that it does not know that nothing was done', async () => {
    const fleet = closeLater(createFleet(BOTH));
    expect([fleet.drain('b1'), await fleet.readmit('b1')]).toEqual([false, false]);
    expect(fleet.engines[0]!.isLive).toBe(true);
  });

  it('serves in two legs, in one, or not at all, as its engines live', () => {
    const split = closeLater(createFleet(SPLIT));
    expect(split.shape()).toBe('split');
    split.drain('d0');
    expect(split.shape()).toBe('none');
    const both = closeLater(createFleet(BOTH));
    expect(both.shape()).toBe('single');
    both.drain('b0');
    expect(both.shape()).toBe('none');
  });

  it('places a leg on no engine that has failed the request, and none where all have', () => {
    const fleet = closeLater(createFleet(SPLIT));
    const [p0] = fleet.liveOf('prefill');
    expect(fleet.place('prefill', 5, new Set())?.engine).toBe(p0);
    expect(fleet.place('prefill', 5, new Set([p0!]))).toBeNull();
  });

  it.each([
    ['prefill', 'p0'],
    ['decode', 'd0'],
  ] as const)('gives a seat of a %s leg back once, however often that is said', (kind, iid) => {
    const fleet = closeLater(createFleet(SPLIT));
    const engine = fleet.engine(iid)!;
    const load = () => [engine.prefills, engine.prefillTokens, engine.decodes];
    const seats = [fleet.place(kind, 7, new Set())!, fleet.place(kind, 7, new Set())!];
    expect(load()).toEqual(kind === 'prefill' ? [2, 14, 0] : [0, 0, 2]);
    seats[0]!.release();
    seats[0]!.release();
    expect(load()).toEqual(kind === 'prefill' ? [1, 7, 0] : [0, 0, 1]);
  });

  it('takes an engine back that answers well, and closes once', async () => {
    const stub = await openStubFleet();
    const fleet = closeLater(createFleet(stub.fleetFile()));
    expect(fleet.drain('d0')).toBe(true);
    expect(fleet.engine('d0')?.isLive).toBe(false);
    expect(await fleet.readmit('d0')).toBe(true);
    expect(fleet.engine('d0')?.isLive).toBe(true);
    expect(fleet.close()).toBe(fleet.close());
  });
});
