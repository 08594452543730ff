/** `narwhal serve`: ready, serving, guarded, and its end. */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { call, jsonOf } from '../helpers/call';
import { closeLater } from '../helpers/close-all';
import { openStubFleet } from '../helpers/open-stub-fleet';
import { parseSse } from '../helpers/parse-sse';
import { runNarwhal, tempFolder } from './narwhal';
import { complete, rowsOf, serve, stream, untilReady, writeFleet } from './served';

const BEARER = { authorization: 'Bearer canary-of-acme' };

describe('narwhal serve', () => {
  test('prints one line when it is ready, serves, keeps a journal, and ends with code 0', async () => {
    const fleet = await openStubFleet({ prefill: 2, decode: 1 });
    const served = await serve(fleet);
    expect(served.stdout()).toContain('example/model on 2 prefill, 1 decode engines');
    expect((await complete(served.url)).status).toBe(200);
    expect(await served.stop()).toBe(0);
    expect(served.stdout().split('\n')).toHaveLength(2);
    const rows = rowsOf(readFileSync(join(served.folder, 'narwhal-journal.jsonl'), 'utf8'));
    expect(rows.map(({ terminal }) => terminal)).toEqual(['completed']);
  });

  test('answers other paths with 404 in the envelope', async () => {
    const { url } = await serve(await openStubFleet(), ['--no-journal']);
    const reply = await call(`${url}/v2/else`, { method: 'GET' });
    expect(reply.status).toBe(404);
    expect(jsonOf(reply)).toMatchObject({ error: { type: 'invalid_request_error', code: 'not_found' } });
  });

  test('takes fleet, port and keys from the environment', async () => {
    const fleet = await openStubFleet();
    const folder = tempFolder();
    writeFleet(folder, fleet);
    const env = { NARWHAL_FLEET: join(folder, 'fleet.json'), PORT: '0', NARWHAL_API_KEYS: 'one, two' };
    const served = await serve(fleet, ['--no-journal'], { env });
    expect(served.stdout()).toContain('keys from the variable NARWHAL_API_KEYS; no journal');
    const withKey = (key: string) =>
      complete(served.url, {}, { headers: { authorization: `Bearer ${key}` } });
    expect((await withKey('two')).status).toBe(200);
    expect((await withKey('one,')).status).toBe(401);
    expect(served.stderr()).toBe('');
  });

  test('warns on standard error when it has no keys', async () => {
    const served = await serve(await openStubFleet(), ['--no-journal']);
    expect(served.stderr()).toMatch(/^narwhal: warning: no keys: everyone .* --api-keys-file\.\n$/);
    expect(served.stdout()).toContain('open to everyone');
  });

  test('takes keys with identities from a file, and shows none of them', async () => {
    const keys = JSON.stringify({ 'canary-of-acme': { tenant: 'acme' } });
    const args = ['--api-keys-file', 'keys.json', '--journal', 'rows.jsonl'];
    const served = await serve(await openStubFleet(), args, { files: { 'keys.json': keys } });
    expect((await complete(served.url)).status).toBe(401);
    expect((await complete(served.url, {}, { headers: BEARER })).status).toBe(200);
    expect(await served.stop()).toBe(0);
    const journal = readFileSync(join(served.folder, 'rows.jsonl'), 'utf8');
    expect(rowsOf(journal).map(({ tenant, status }) => [tenant, status])).toEqual([
      [null, 401],
      ['acme', 200],
    ]);
    expect(served.stdout() + served.stderr() + journal).not.toContain('canary');
  });

  test('has health, metrics and state on the second port, and no completions', async () => {
    const { metricsUrl, url } = await serve(await openStubFleet(), ['--metrics-port', '0', '--no-journal']);
    // As a scraper behind a proxy would ask.
    const headers = { 'x-forwarded-for': '192.0.2.1' };
    const get = (page: string) => call(page, { method: 'GET', headers });
    for (const page of ['/ready', '/health', '/narwhal/state', '/metrics']) {
      expect({ page, status: (await get(metricsUrl + page)).status }).toEqual({ page, status: 200 });
    }
    expect((await complete(metricsUrl)).status).toBe(404);
    const drain = await call(`${metricsUrl}/narwhal/engines/p0/drain`, { headers, body: {} });
    expect(drain.status).toBe(404);
    // The main port keeps its private pages to itself.
    expect((await get(`${url}/narwhal/state`)).status).toBe(404);
  });
});

describe('narwhal serve does not start, and says why,', () => {
  async function refused(args: readonly string[], env: Record<string, string> = {}): Promise<string> {
    const cwd = tempFolder();
    writeFleet(cwd, await openStubFleet());
    const port = args.includes('--port') ? [] : ['--port', '0'];
    const { code, stdout, stderr } = await runNarwhal(['serve', ...port, ...args], { cwd, env });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    return stderr;
  }

  test('without a fleet file', async () => {
    const text = await refused(['--fleet', 'none.json']);
    expect(text).toMatch(/^narwhal: the fleet file none\.json cannot be read: there is no such file in /);
    expect(text.match(/none\.json/g)).toHaveLength(1);
  });

  test('with a variable that holds no key, rather than letting everyone in', async () => {
    const text = 'narwhal: the variable NARWHAL_API_KEYS holds no key; unset it if everyone may come in\n';
    expect(await refused([], { NARWHAL_API_KEYS: ' ' })).toBe(text);
  });

  test('with a variable that is not set', async () => {
    expect(await refused(['--api-keys-env', 'NONE'])).toContain('the variable NONE is not set');
  });

  test('with a key file that is not there', async () => {
    expect(await refused(['--api-keys-file', 'none'])).toContain(
      'the file none with the keys cannot be read (ENOENT)',
    );
  });

  test('with keys that begin like JSON and are none, without repeating them', async () => {
    const text = await refused([], { NARWHAL_API_KEYS: '{"canary": ' });
    expect(text).toBe('narwhal: the variable NARWHAL_API_KEYS begins like JSON and is none\n');
  });

  test('on a port that is in use', async () => {
    const other = closeLater(createServer());
    await new Promise<void>((resolve) => other.listen(0, resolve));
    const { port } = other.address() as AddressInfo;
    const text = `narwhal: port ${port} is in use; choose another one with --port or --metrics-port\n`;
    expect(await refused(['--port', String(port), '--no-journal'], { NARWHAL_API_KEYS: 'k' })).toBe(text);
  });
});

describe('narwhal serve at its end', () => {
  test('lets a running stream finish, and refuses new work with 503', async () => {
    const fleet = await openStubFleet({ tokenDelayMs: 60 });
    const served = await serve(fleet);
    const { begun, reply } = stream(served.url, { max_tokens: 20, ignore_eos: true });
    await begun;
    served.child.kill('SIGTERM');
    const ending =
      /narwhal: ending: no new work; 1 request in flight, 0 queued; at most 25 seconds; a second signal/;
    await served.until('stderr', ending);
    await untilReady(served.url, 503);
    expect((await complete(served.url)).status).toBe(503);
    expect(parseSse((await reply).text)).toMatchObject({ done: true });
    expect((await served.ended).code).toBe(0);
    expect(served.stderr()).toMatch(/^narwhal: ended\n$/m);
    const rows = rowsOf(readFileSync(join(served.folder, 'narwhal-journal.jsonl'), 'utf8'));
    expect(rows.map(({ terminal, reason }) => [terminal, reason])).toEqual([
      ['rejected', 'shutting_down'],
      ['completed', null],
    ]);
  });

  test('ends what is left after --drain-timeout with an error frame, and with code 0', async () => {
    const fleet = await openStubFleet({ script: { leg: 'decode', hangAfterFrames: 2 } });
    const served = await serve(fleet, ['--drain-timeout', '0.2', '--no-journal']);
    const { begun, reply } = stream(served.url);
    await begun;
    expect(await served.stop('SIGINT')).toBe(0);
    const { frames, done } = parseSse((await reply).text);
    expect(frames.at(-1)).toMatchObject({ error: {} });
    expect(done).toBe(false);
  });

  test('does not wait at a second signal', async () => {
    const fleet = await openStubFleet({ script: { leg: 'decode', hangAfterFrames: 2 } });
    const served = await serve(fleet, ['--no-journal']);
    const { begun, reply } = stream(served.url);
    const cut = expect(reply).rejects.toThrow();
    await begun;
    served.child.kill('SIGTERM');
    await untilReady(served.url, 503);
    expect(await served.stop('SIGTERM')).toBe(143);
    await cut;
  });
});
