/** `narwhal check` against stub engines. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { unreachableHost } from '../../lib/cli/check/advice';
import type { CheckReport } from '../../lib/cli/check/report';
import { parseFleet } from '../../lib/config/fleet-file';
import type { StubFleet } from '../../lib/testing';
import { openStubFleet } from '../helpers/open-stub-fleet';
import { type Ended, runNarwhal, tempFolder } from './narwhal';

async function check(
  fleet: StubFleet,
  overrides: object = {},
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  const cwd = tempFolder();
  writeFileSync(join(cwd, 'fleet.json'), JSON.stringify(fleet.fleetFile(overrides)));
  return runNarwhal(['check', ...args], { cwd, env });
}

/** Words of a line of the table. */
function line({ stdout }: Ended, beginning: string): string[] | undefined {
  const found = stdout.split('\n').find((text) => text.startsWith(`${beginning} `));
  return found?.split(/ {2,}/);
}

describe('narwhal check of a good fleet', () => {
  test('shows one line for each engine and each pair, and ends with code 0', async () => {
    const fleet = await openStubFleet({ prefill: 2, decode: 2 });
    const ended = await check(fleet);
    expect(ended.code).toBe(0);
    const { url } = fleet.engine('p0');
    expect(line(ended, 'p0')).toEqual(['p0', 'prefill', 'ok', 'ok', 'ok', '-', '0.14.0', url]);
    const pairs = ended.stdout.split('\n').filter((text) => text.includes('->'));
    expect(pairs.map((text) => text.split(/ {2,}/).slice(0, 3))).toEqual([
      ['p0 -> d0', 'ok', 'ok'],
      ['p0 -> d1', 'ok', 'ok'],
      ['p1 -> d0', 'ok', 'ok'],
      ['p1 -> d1', 'ok', 'ok'],
    ]);
    expect(ended.stderr).toMatch(/the fleet is good\n$/);
  });

  test('makes a handoff for each pair, and leaves none open', async () => {
    const fleet = await openStubFleet({ prefill: 2, decode: 3 });
    expect((await check(fleet)).code).toBe(0);
    expect(fleet.ledger).toMatchObject({ produced: 6, claimed: 6, open: [] });
    const prompts = fleet.calls.filter(({ leg }) => leg === 'prefill').map(({ json }) => json?.['prompt']);
    expect(new Set(prompts).size).toBe(6);
  });

  test('says on standard error what it is doing, unless it is to be quiet', async () => {
    const fleet = await openStubFleet();
    expect((await check(fleet)).stderr).toBe('p0: ok\nd0: ok\np0 -> d0: ok\nthe fleet is good\n');
    expect((await check(fleet, {}, ['--quiet'])).stderr).toBe('the fleet is good\n');
  });

  test('prints the same as JSON', async () => {
    const fleet = await openStubFleet({ both: 1 });
    const { code, stdout } = await check(fleet, {}, ['--json']);
    const report = JSON.parse(stdout) as CheckReport;
    expect(code).toBe(0);
    expect(report).toMatchObject({ ok: true, model: fleet.model, problems: [] });
    expect(report.engines.map(({ iid, answer }) => [iid, answer])).toEqual([
      ['p0', '-'],
      ['d0', '-'],
      ['b0', 'ok'],
    ]);
    expect(report.pairs).toEqual([
      { prefill: 'p0', decode: 'd0', produced: 'ok', claimed: 'ok', ms: expect.any(Number) },
    ]);
  });

  test('asks an engine that works alone for one token, without a handoff', async () => {
    const fleet = await openStubFleet({ prefill: 0, decode: 0, both: 1 });
    const ended = await check(fleet);
    expect(ended.code).toBe(0);
    expect(line(ended, 'b0')?.[5]).toBe('ok');
    expect(fleet.calls.map(({ leg }) => leg)).toEqual(['health', 'models', 'other', 'single']);
  });

  test('sends the key that the file names, and never shows it', async () => {
    const fleet = await openStubFleet({ apiKey: 'canary-key' });
    const ended = await check(fleet, { engine: { engine_api_key_env: 'K' } }, [], { K: 'canary-key' });
    expect(ended.code).toBe(0);
    expect(ended.stdout + ended.stderr).not.toContain('canary');
  });
});

describe('narwhal check of a bad fleet ends with code 1 and says what to do', () => {
  test('about a file that is not there, or is not JSON, and names it once', async () => {
    const cwd = tempFolder();
    writeFileSync(join(cwd, 'bad.json'), '{"model": }');
    const { code, stderr } = await runNarwhal(['check', '--fleet', 'none.json'], { cwd });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^error: none\.json: cannot be read: there is no such file in /);
    expect(stderr).toContain(
      'the option fleet of narwhalRouter, the flag --fleet, or the variable NARWHAL_FLEET',
    );
    expect(stderr.match(/none\.json/g)).toHaveLength(1);
    const bad = await runNarwhal(['check', '--fleet', 'bad.json'], { cwd });
    expect(bad.stderr).toMatch(/^error: bad\.json: line 1, column 11: /);
  });

  test('about every problem of the file', async () => {
    const fleet = await openStubFleet();
    const ended = await check(fleet, { modle: 'x', engine: { engine_api_key_env: 'NOT_THERE' } });
    expect(ended).toMatchObject({ code: 1, stdout: '' });
    expect(ended.stderr).toContain('modle: unknown key (did you mean model?)');
    expect(ended.stderr).toContain('the environment variable NOT_THERE is not set');
    expect(ended.stderr).toMatch(/the fleet is not good: 2 errors\n$/);
    expect(fleet.calls).toEqual([]);
  });

  test('about a key that the file does not name', async () => {
    const fleet = await openStubFleet({ apiKey: 'k' });
    const ended = await check(fleet);
    expect(ended.code).toBe(1);
    expect(line(ended, 'p0')?.slice(2, 5)).toEqual(['ok', 'FAILED', '-']);
    expect(line(ended, 'p0 -> d0')).toEqual(['p0 -> d0', '-', '-', '-']);
    expect(ended.stderr).toContain(
      'p0: asks for a key (401): name the variable that holds it in engine.engine_api',
    );
  });

  test('about a wrong key, without repeating it', async () => {
    const fleet = await openStubFleet({ apiKey: 'k' });
    const ended = await check(fleet, { engine: { engine_api_key_env: 'K' } }, [], { K: 'canary-key' });
    expect(ended.code).toBe(1);
    expect(ended.stderr).toContain('d0: refuses the key in $K (401): put the value of its --api-key there');
    expect(ended.stdout + ended.stderr).not.toContain('canary');
  });

  test('about another model', async () => {
    const fleet = await openStubFleet();
    const ended = await check(fleet, { model: 'other/model' });
    expect(ended.code).toBe(1);
    expect(ended.stderr).toContain(
      'serves example/model, not other/model: start it with --served-model-name',
    );
  });

  test('about an engine that is not there, and still checks the pairs of the others', async () => {
    const fleet = await openStubFleet({ prefill: 2 });
    await fleet.engine('p1').stop();
    const ended = await check(fleet);
    expect(ended.code).toBe(1);
    expect(ended.stderr).toMatch(
      /error: p1: cannot be reached at \S+ \(ECONNREFUSED[^)]*\): start it, or correct its url/,
    );
    expect(line(ended, 'p0 -> d0')?.slice(1, 3)).toEqual(['ok', 'ok']);
    expect(line(ended, 'p1 -> d0')?.slice(1, 3)).toEqual(['-', '-']);
  });

  test('about an engine that does not answer', async () => {
    const fleet = await openStubFleet();
    fleet.engine('d0').script = () => ({ hang: true });
    const ended = await check(fleet, {}, ['--timeout', '0.3']);
    expect(ended.code).toBe(1);
    expect(ended.stderr).toMatch(/error: d0: does not answer at \S+ \(no answer within 0\.3 s\)/);
  });

  test('about an engine that says that it is not well', async () => {
    const fleet = await openStubFleet();
    fleet.engine('d0').script = { leg: 'health', status: 503 };
    expect((await check(fleet)).stderr).toContain(
      'error: d0: says at /health that it is not well (status 503',
    );
  });

  test('about a url that leads to something else', async () => {
    const fleet = await openStubFleet();
    fleet.engine('p0').script = { leg: 'models', status: 404, body: 'nothing here' };
    const ended = await check(fleet);
    expect(ended.stderr).toMatch(
      /p0: has no list of models at \S+\/v1\/models \(status 404: nothing here\): is its url/,
    );
  });

  test('once about a prefill engine that hands nothing over', async () => {
    const fleet = await openStubFleet({ decode: 2 });
    fleet.engine('p0').script = { leg: 'prefill', noHandoff: true };
    const ended = await check(fleet);
    expect(ended.code).toBe(1);
    expect(line(ended, 'p0 -> d1')).toEqual(['p0 -> d1', 'FAILED', '-', '-']);
    expect(
      ended.stderr.match(/error: p0: answers, but hands nothing over .*--kv-transfer-config/g),
    ).toHaveLength(1);
    expect(ended.stderr).toMatch(/not good: 1 error\n$/);
  });

  test('about a pair whose decode engine cannot take the handoff', async () => {
    const fleet = await openStubFleet({ decode: 2 });
    fleet.engine('d1').script = { leg: 'decode', status: 500 };
    const ended = await check(fleet);
    expect(ended.code).toBe(1);
    expect(line(ended, 'p0 -> d0')?.[2]).toBe('ok');
    expect(line(ended, 'p0 -> d1')).toEqual(['p0 -> d1', 'ok', 'FAILED', '-']);
    expect(ended.stderr).toMatch(
      /error: p0 -> d1: the handoff was not taken \(status 500.*VLLM_NIXL_SIDE_CHANNEL_HOST/,
    );
    // No second decode engine was asked: a handoff is used once.
    expect(fleet.ledger).toMatchObject({ produced: 2, claimed: 1 });
  });

  test('about versions that differ between the two ends', async () => {
    const fleet = await openStubFleet();
    fleet.engine('d0').script = ({ path }) =>
      path === '/version' ? { body: { version: '0.13.0' } } : undefined;
    const ended = await check(fleet);
    expect(ended.code).toBe(1);
    expect(ended.stderr).toContain('error: fleet: run different versions (p0: 0.14.0; d0: 0.13.0)');
  });
});

describe('narwhal check warns, and ends with code 0,', () => {
  test('where a version is not told', async () => {
    const fleet = await openStubFleet();
    fleet.engine('d0').script = ({ path }) => (path === '/version' ? { status: 404 } : undefined);
    const ended = await check(fleet);
    expect(ended.code).toBe(0);
    expect(ended.stderr).toMatch(/^warning: d0: does not tell its version at \/version/m);
    expect(ended.stderr).toMatch(/the fleet is good: 1 warning\n$/);
  });

  test('where the longest prompts differ', async () => {
    const fleet = await openStubFleet();
    const body = { data: [{ id: fleet.model, max_model_len: 4096 }] };
    fleet.engine('d0').script = { leg: 'models', body };
    const ended = await check(fleet);
    expect(ended.code).toBe(0);
    expect(ended.stderr).toContain('have different --max-model-len (p0: 1048576; d0: 4096)');
  });

  test('about parts of the file that nobody acts on', async () => {
    const ended = await check(await openStubFleet(), { hardware: {} });
    expect(ended.code).toBe(0);
    expect(ended.stderr).toContain('nobody acts on hardware');
  });
});

describe('the address in a handoff', () => {
  const engineAt = (url: string) =>
    parseFleet({ model: 'm', engines: [{ iid: 'b0', url, role: 'both' }] }).engines[0]!;

  test.each(['localhost', '127.0.0.1', '::1'])('%s is of no use where the engine is elsewhere', (host) => {
    const handoff = JSON.stringify({ remote_host: host });
    expect(unreachableHost(engineAt('http://10.0.0.1:8000'), handoff)).toContain(
      'VLLM_NIXL_SIDE_CHANNEL_HOST',
    );
    expect(unreachableHost(engineAt('http://localhost:8000'), handoff)).toBeNull();
  });

  test.each(['{"remote_host":"10.0.0.1"}', '{"remote_host":null}', '{}'])('%s is left alone', (handoff) => {
    expect(unreachableHost(engineAt('http://10.0.0.1:8000'), handoff)).toBeNull();
  });
});
