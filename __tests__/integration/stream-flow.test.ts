import compression from 'compression';
import { deltaFrame, finishFrame, framesOf, normalForm, ROLE_FRAME, textFrame } from './frames';
import { CHAT, COMPLETIONS, HI, startGateway, until } from './gateway';
import { StreamClient } from './stream-client';

const BODY = { messages: HI, stream: true };
/** Two, three and four bytes a character, escapes as written, blanks, and numbers that a rewrite would change. */
const FRAMES = [
  ROLE_FRAME,
  textFrame('\u00e9\u4f60\u597d\u{1f30a}'),
  '{"id" : "c1", "big":1152921504606846977,"x":1.0,"choices":[ {"index":0,"delta":{"content":"caf\\u00e9 \\/ \\n"},"finish_reason":null} ]}',
  deltaFrame({ content: 'end' }),
  finishFrame(),
];

describe('events on their way to a client', () => {
  it('are not held back by compression() in the host', async () => {
    const gateway = await startGateway({ before: [compression({ threshold: 0 })] });
    gateway.fleet.script = { leg: 'decode', rawFrames: FRAMES, hangAfterFrames: 2 };
    const client = new StreamClient(gateway.url + CHAT, BODY, { 'accept-encoding': 'gzip, br' });
    // The engine writes nothing more, so that what is readable now was not waiting for a later event.
    await client.sees('\u{1f30a}');
    expect(client.headers['content-encoding']).toBeUndefined();
    client.leave();
    await gateway.rowsOf(1);
  });

  it('arrive one by one, each before the next is made', async () => {
    const gateway = await startGateway();
    for (const shown of [2, 3, 4]) {
      gateway.fleet.script = { leg: 'decode', rawFrames: framesOf('a1', 'a2', 'a3'), hangAfterFrames: shown };
      const client = new StreamClient(gateway.url + CHAT, BODY);
      await client.sees(`a${shown - 1}`);
      expect(client.text).toBe(normalForm(framesOf('a1', 'a2', 'a3').slice(0, shown), false));
      client.leave();
      await client.end();
    }
    await gateway.rowsOf(3);
  });

  it('have comments before them where heartbeat_s is set, none after the first output', async () => {
    const gateway = await startGateway({ file: { serving: { heartbeat_s: 0.02 } } });
    gateway.fleet.script = (call) => (call.leg === 'prefill' ? { delayMs: 200 } : { frameDelayMs: 40 });
    const client = new StreamClient(gateway.url + COMPLETIONS, { prompt: 'hi', stream: true });
    await client.sees(': keep-alive\n\n: keep-alive\n\n');
    expect(client.status).toBe(200);
    await client.end();
    expect(client.text).toMatch(/^(: keep-alive\n\n)+(data: [^\n]+\n\n)+data: \[DONE\]\n\n$/);
    expect(await gateway.row()).toMatchObject({ terminal: 'completed', status: 200 });
  });

  it('turn a later error into a frame once a heartbeat has sent the 200', async () => {
    const serving = { heartbeat_s: 0.02, max_attempts: 1 };
    const gateway = await startGateway({ file: { serving } });
    gateway.fleet.script = { leg: 'decode', delayMs: 200, status: 500 };
    const client = new StreamClient(gateway.url + CHAT, BODY);
    await client.end();
    expect(client.status).toBe(200);
    const frame = client.text.replaceAll(': keep-alive\n\n', '');
    expect(JSON.parse(frame.replace(/^data: /, ''))).toMatchObject({ error: { type: 'decode' } });
    expect(client.text).not.toContain('[DONE]');
    expect(await gateway.row()).toMatchObject({ terminal: 'failed', reason: 'engine_error', status: 200 });
  });

  it('hold the engine back while the client does not read, and grow no memory', async () => {
    const gateway = await startGateway();
    const totalBytes = 60e6;
    gateway.fleet.script = { leg: 'decode', endless: { bytesPerFrame: 20_000, totalBytes } };
    const client = new StreamClient(gateway.url + CHAT, BODY);
    await client.sees('xxx');
    client.pause();
    const rss = process.memoryUsage.rss();
    const call = gateway.legsAt('d0')[0]!;
    await until(() => call.paused);
    // What the sockets between hold is small: the rest stays in the engine, however long the wait.
    let before = -1;
    while (before !== call.bytesWritten) {
      before = call.bytesWritten;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    expect(call.bytesWritten).toBeLessThan(totalBytes / 3);
    expect(process.memoryUsage.rss() - rss).toBeLessThan(totalBytes / 2);
    expect(call.responseEnded).toBe(false);
    client.leave();
    await until(() => call.closedEarly);
    expect(await gateway.row()).toMatchObject({ terminal: 'cancelled', cancelled_phase: 'decode' });
  });

  it('go on to the end when a slow client reads again', async () => {
    const gateway = await startGateway();
    gateway.fleet.script = { leg: 'decode', endless: { bytesPerFrame: 20_000, totalBytes: 12e6 } };
    const client = new StreamClient(gateway.url + CHAT, BODY);
    await client.sees('xxx');
    const call = gateway.legsAt('d0')[0]!;
    client.pause();
    await until(() => call.paused);
    client.resume();
    await client.end();
    expect(client.text.endsWith('data: [DONE]\n\n')).toBe(true);
    expect(client.text.length).toBeGreaterThan(12e6);
    expect(await gateway.row()).toMatchObject({ terminal: 'completed' });
  });
});
