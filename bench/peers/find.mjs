// Other people's gateways: no dependencies of this package, measured where somebody has installed them.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const HERE = dirname(fileURLToPath(import.meta.url));
const FOLDER = process.env.NARWHAL_BENCH_PEERS ?? '';
const PYTHON = process.env.NARWHAL_BENCH_PYTHON ?? 'python3';
/** Slow ones would warm up for minutes. Python compiles nothing while it runs. */
const WARM_PYTHON = 500;
const WARM_PORTKEY = 3000;

const hasModule = (name) => FOLDER !== '' && existsSync(join(FOLDER, 'node_modules', name));
const wantModule = (name) => `npm install ${name} in a folder, and name it in NARWHAL_BENCH_PEERS`;

/** @returns the peers that are here, and what to do for those that are missing */
export function findPeers({ ports, decodePort }) {
  const all = [
    {
      name: 'toy proxy',
      isHere: spawnSync(PYTHON, ['-c', 'import fastapi, httpx, uvicorn']).status === 0,
      want: 'pip install fastapi httpx uvicorn uvloop, and name that python in NARWHAL_BENCH_PYTHON',
      commandFor: (port) => [PYTHON, [join(HERE, 'toy-proxy.py'), String(port), ...ports.map(String)]],
      options: { warm: WARM_PYTHON },
    },
    {
      name: 'http-proxy-middleware',
      isHere: hasModule('http-proxy-middleware'),
      want: wantModule('http-proxy-middleware'),
      commandFor: (port) => [
        process.execPath,
        [join(HERE, 'single-leg.mjs'), String(port), String(decodePort), FOLDER],
      ],
      options: { flags: ['--decode'] },
    },
    {
      name: '@portkey-ai/gateway',
      isHere: hasModule('@portkey-ai/gateway'),
      want: wantModule('@portkey-ai/gateway'),
      commandFor: (port) => [
        process.execPath,
        [
          join(FOLDER, 'node_modules/@portkey-ai/gateway/build/start-server.js'),
          `--port=${port}`,
          '--headless',
        ],
      ],
      options: {
        warm: WARM_PORTKEY,
        flags: [
          '--decode',
          ...['--header', 'x-portkey-provider: openai'],
          ...['--header', `x-portkey-custom-host: http://127.0.0.1:${decodePort}/v1`],
        ],
      },
    },
  ];
  return { found: all.filter(({ isHere }) => isHere), missing: all.filter(({ isHere }) => !isHere) };
}
