/** `narwhal demo`: a gateway with a stub fleet inside, ready for curl. */
import { createServer, type Server } from 'node:http';
import { resolve } from 'node:path';
import express from 'express';
import { narwhalRouter } from '../router';
import { startStubFleet } from '../testing';
import { DEFAULT_PORT, JOURNAL } from './demo-command';
import { listenFrom } from './listen';
import { endOnSignal } from './signals';

/** A running demo. */
export interface Demo {
  readonly port: number;
  /** Lines that say where it is and what to do with it. */
  readonly welcome: readonly string[];
  close(): Promise<void>;
}

/**
 * Starts two prefill and two decode stub engines and a gateway in front of them.
 *
 * @param env `PORT` (default 8080; the next free one is taken where it is in use).
 */
export async function startDemo(env: NodeJS.ProcessEnv): Promise<Demo> {
  const fleet = await startStubFleet({ prefill: 2, decode: 2, tokenDelayMs: 30 });
  const router = narwhalRouter({
    fleet: fleet.fleetFile(),
    journal: JOURNAL,
    inspection: { page: true },
  });
  const app = express().disable('x-powered-by').use(router);
  const server = createServer(app);
  const wanted = Number(env['PORT'] || DEFAULT_PORT);
  const port = await listenFrom(server, wanted);
  const other = wanted !== 0 && port !== wanted ? [`Port ${wanted} is in use; ${port} is free.`] : [];
  return {
    port,
    welcome: [...other, ...welcome(port, fleet.model)],
    close: () => closeAll(server, router, fleet),
  };
}

async function closeAll(server: Server, ...parts: readonly { close(): Promise<void> }[]): Promise<void> {
  server.close();
  for (const part of parts) await part.close();
  server.closeAllConnections();
}

function welcome(port: number, model: string): string[] {
  const url = `http://127.0.0.1:${port}`;
  return [
    `express-narwhal demo: gateway on ${url}, with 2 prefill and 2 decode stub engines inside.`,
    '',
    'Try it from a second terminal (the engines are stubs: the answer is made-up words):',
    `  ${curl(url, model, true)}`,
    '',
    'The same, not streamed:',
    `  ${curl(url, model, false)}`,
    '',
    `One row for each request: ${resolve(JOURNAL)}`,
    `What is going on:         ${url}/narwhal/ in a browser, or curl ${url}/narwhal/state`,
    '',
    'For real engines put this into fleet.json, and app.use(narwhalRouter()) into your own Express app:',
    '  { "model": "your/model", "engines": [',
    '    { "iid": "p0", "url": "http://10.0.0.1:8000", "role": "prefill" },',
    '    { "iid": "d0", "url": "http://10.0.0.2:8000", "role": "decode" } ] }',
    'How to go on: docs/getting-started.md',
    '',
    'Stop with Ctrl-C.',
  ];
}

/** A line for a POSIX shell; `-N` shows each event as it comes. */
function curl(url: string, model: string, stream: boolean): string {
  const body = { model, messages: [{ role: 'user', content: 'Say hello' }], stream };
  const flags = stream ? '-N' : '-s';
  return `curl ${flags} ${url}/v1/chat/completions -H 'content-type: application/json' -d '${JSON.stringify(body)}'`;
}

/** Runs until a signal ends it. */
export async function runDemo(): Promise<null> {
  const demo = await startDemo(process.env);
  // Before it says that it is there: whoever reads that may stop it at once.
  endOnSignal(() => demo.close());
  console.log(demo.welcome.join('\n'));
  return null;
}
