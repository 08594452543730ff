/** The demo as a newcomer meets it: start it, paste the line that it prints, stop it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const MAIN = resolve(__dirname, '../../dist/cli/main.js');

interface Running {
  readonly child: ChildProcess;
  /** What it printed up to its last line, "Stop with Ctrl-C." */
  readonly text: string;
}

async function startDemo(cwd: string, port: string): Promise<Running> {
  const child = spawn(process.execPath, [MAIN, 'demo'], {
    cwd,
    env: { ...process.env, PORT: port },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  for await (const chunk of child.stdout) {
    text += String(chunk);
    if (text.includes('Ctrl-C')) break;
  }
  return { child, text };
}

async function stop({ child }: Running): Promise<number | null> {
  if (child.exitCode === null) {
    child.kill('SIGTERM');
    await once(child, 'exit');
  }
  return child.exitCode;
}

/** The requests that the printed curl lines make. */
function curlLines(text: string) {
  return [...text.matchAll(/^ *curl -[Ns] (\S+) -H '([^:']+): ([^']+)' -d '([^']+)'$/gm)].map(
    ([, url = '', name = '', value = '', body = '']) => ({ url, headers: { [name]: value }, body }),
  );
}

describe('narwhal demo', () => {
  let cwd: string;
  let running: Running;

  beforeAll(async () => {
    cwd = mkdtempSync(join(tmpdir(), 'narwhal-demo-'));
    running = await startDemo(cwd, '0');
  }, 60_000);

  afterAll(async () => {
    await stop(running);
    rmSync(cwd, { recursive: true });
  });

  test('prints two curl lines, a streamed one first, and where the journal is', () => {
    const bodies = curlLines(running.text).map(({ body }) => JSON.parse(body) as { stream: boolean });
    expect(bodies.map(({ stream }) => stream)).toEqual([true, false]);
    expect(running.text).toContain(join(cwd, 'narwhal-journal.jsonl'));
  });

  test('answers the first printed request as a stream', async () => {
    const [request] = curlLines(running.text);
    const response = await fetch(request!.url, { method: 'POST', ...request });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect(await response.text()).toMatch(/^data: \{[\s\S]*"content":"[\s\S]*\n\ndata: \[DONE\]\n\n$/);
  });

  test('answers the second printed request as one JSON answer', async () => {
    const [, request] = curlLines(running.text);
    const response = await fetch(request!.url, { method: 'POST', ...request });
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({
      object: 'chat.completion',
      choices: [{ message: { role: 'assistant', content: expect.stringMatching(/\S/) } }],
    });
  });

  test('prints a fleet file for real engines that is JSON', () => {
    const file = /^ {2}(\{ "model"[\s\S]*?\] \})$/m.exec(running.text)?.[1];
    expect(JSON.parse(file ?? '')).toMatchObject({ engines: [{ role: 'prefill' }, { role: 'decode' }] });
  });

  test('shows its state at the printed address', async () => {
    const url = /curl (\S+\/narwhal\/state)$/m.exec(running.text)?.[1];
    const response = await fetch(url ?? '');
    expect(await response.json()).toMatchObject({ status: 'serving' });
  });

  test('shows its fleet page at the printed address', async () => {
    const url = /(http:\S+\/narwhal\/) in a browser/.exec(running.text)?.[1];
    const response = await fetch(url ?? '');
    expect([response.status, response.headers.get('content-type')]).toEqual([
      200,
      'text/html; charset=utf-8',
    ]);
    expect(await response.text()).toContain('<h1>Fleet');
  });

  test('ends with code 0 on SIGTERM, with a row for each request in the journal', async () => {
    expect(await stop(running)).toBe(0);
    const rows = readFileSync(join(cwd, 'narwhal-journal.jsonl'), 'utf8').trim().split('\n').slice(1);
    expect(rows.map((row) => (JSON.parse(row) as { terminal: string }).terminal)).toEqual([
      'completed',
      'completed',
    ]);
  });
});

describe('narwhal demo on a port that is in use', () => {
  const other = createServer();
  let cwd: string;
  beforeAll(async () => {
    cwd = mkdtempSync(join(tmpdir(), 'narwhal-demo-'));
    await once(other.listen(0), 'listening');
  });
  afterAll(() => {
    other.close();
    rmSync(cwd, { recursive: true });
  });

  test('takes the next free one, says so, and can be stopped as soon as it has', async () => {
    const { port } = other.address() as AddressInfo;
    const running = await startDemo(cwd, String(port));
    expect(await stop(running)).toBe(0);
    const taken = Number(/gateway on http:\/\/127\.0\.0\.1:(\d+)/.exec(running.text)?.[1]);
    expect(taken).toBeGreaterThan(port);
    expect(running.text).toContain(`Port ${port} is in use`);
  }, 60_000);
});

describe('narwhal demo with a bad PORT', () => {
  test('ends with code 1 and one clear line', async () => {
    const child = spawn(process.execPath, [MAIN, 'demo'], {
      env: { ...process.env, PORT: '80a' },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let text = '';
    for await (const chunk of child.stderr) text += String(chunk);
    if (child.exitCode === null) await once(child, 'exit');
    expect(child.exitCode).toBe(1);
    expect(text).toBe('narwhal: PORT must be a whole number from 0 to 65535\n');
  }, 60_000);
});
