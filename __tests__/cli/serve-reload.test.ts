/** `narwhal serve` takes over new files while it serves. */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openStubFleet } from '../helpers/open-stub-fleet';
import { parseSse } from '../helpers/parse-sse';
import { complete, rowsOf, serve, stream, writeFleet } from './served';

describe('a new fleet file', () => {
  test('serves new requests at once, while running ones end with the old fleet', async () => {
    const before = await openStubFleet({ tokenDelayMs: 60 });
    const after = await openStubFleet();
    const served = await serve(before);
    const { begun, reply } = stream(served.url, { max_tokens: 30, ignore_eos: true });
    await begun;
    writeFleet(served.folder, after);
    await served.until('stderr', /took over \.\/fleet\.json: example\/model on 1 prefill, 1 decode engines/);
    expect((await complete(served.url)).status).toBe(200);
    expect(after.calls.map(({ leg }) => leg)).toEqual(['prefill', 'decode']);
    expect(before.calls.map(({ leg }) => leg)).toEqual(['prefill', 'decode']);
    expect(parseSse((await reply).text)).toMatchObject({ done: true });
    expect(await served.stop()).toBe(0);
  });

  test('leaves one journal, with the rows of both', async () => {
    const before = await openStubFleet();
    const served = await serve(before);
    await complete(served.url);
    writeFleet(served.folder, await openStubFleet());
    await served.until('stderr', /took over/);
    await complete(served.url);
    expect(await served.stop()).toBe(0);
    const text = readFileSync(join(served.folder, 'narwhal-journal.jsonl'), 'utf8');
    expect(rowsOf(text).map(({ terminal }) => terminal)).toEqual(['completed', 'completed']);
    expect(text.match(/"meta"/g)).toHaveLength(1);
  });

  test('is seen when another file is moved into its place', async () => {
    const served = await serve(await openStubFleet(), ['--no-journal']);
    const after = await openStubFleet();
    writeFileSync(join(served.folder, 'next.json'), JSON.stringify(after.fleetFile()));
    renameSync(join(served.folder, 'next.json'), join(served.folder, 'fleet.json'));
    await served.until('stderr', /took over/);
    await complete(served.url);
    expect(after.calls).toHaveLength(2);
  });

  test('that is bad is refused with every reason, and the old one stays', async () => {
    const fleet = await openStubFleet();
    const served = await serve(fleet, ['--no-journal']);
    writeFileSync(join(served.folder, 'fleet.json'), '{"modle": "x", "engines": [{"iid": "p0"}]}');
    await served.until('stderr', /did not take over the new files, the old ones stay: .* has \d problems/);
    await served.until('stderr', /modle: unknown key \(did you mean model\?\)/);
    await served.until('stderr', /engines\[0\]\.url: is required/);
    expect((await complete(served.url)).status).toBe(200);
    expect(fleet.calls).toHaveLength(2);
    // And a good one after it is taken.
    writeFleet(served.folder, await openStubFleet({ decode: 2 }));
    await served.until('stderr', /took over .* 2 decode engines/);
    expect(await served.stop()).toBe(0);
  });

  test('is read again at SIGHUP, changed or not', async () => {
    const served = await serve(await openStubFleet(), ['--no-journal']);
    served.child.kill('SIGHUP');
    await served.until('stderr', /took over/);
    expect((await complete(served.url)).status).toBe(200);
    expect(await served.stop()).toBe(0);
  });
});

describe('a new key file', () => {
  test('lets new keys in and old ones no longer', async () => {
    const args = ['--api-keys-file', 'keys', '--no-journal'];
    const served = await serve(await openStubFleet(), args, { files: { keys: '# ours\nold-key\n' } });
    const withKey = (key: string) =>
      complete(served.url, {}, { headers: { authorization: `Bearer ${key}` } });
    expect((await withKey('old-key')).status).toBe(200);
    writeFileSync(join(served.folder, 'keys'), 'new-key\n');
    await served.until('stderr', /took over/);
    expect((await withKey('old-key')).status).toBe(401);
    expect((await withKey('new-key')).status).toBe(200);
  });

  test('without a key is refused, and the old keys stay', async () => {
    const args = ['--api-keys-file', 'keys', '--no-journal'];
    const served = await serve(await openStubFleet(), args, { files: { keys: 'old-key\n' } });
    writeFileSync(join(served.folder, 'keys'), '# nobody\n');
    await served.until('stderr', /did not take over .*: the file keys holds no key/);
    expect((await complete(served.url)).status).toBe(401);
  });
});
