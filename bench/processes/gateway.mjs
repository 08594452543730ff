// The library with everything on: validation, keys, a journal file, health probes.
//   node gateway.mjs <port, or 0> <prefill port> <decode port> [--plain] [--fronted] [--parsed] [--engines N] [--patient]
// --plain   app.listen() instead of createServer(app)
// --fronted an interceptor on the axios client, so that every call goes through axios's front
// --parsed  express.json() in front
// --engines so many pairs of engines, all on the two ports
// --patient takes requests however late the event loop is, where the load and not the gateway decides how late

import { rmSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import express from 'express';
import { createFleet, createServer, narwhalRouter } from 'express-narwhal';
import { tellAccounts } from './accounting.mjs';

const [port, prefillPort, decodePort] = process.argv.slice(2, 5).map(Number);
const has = (flag) => process.argv.includes(flag);
const engines = Number(process.argv[process.argv.indexOf('--engines') + 1]) || 1;
const several = (role, at) =>
  Array.from({ length: engines }, (_, i) => ({ iid: `${role}${i}`, role, url: `http://127.0.0.1:${at}` }));

const fleet = createFleet({
  model: 'bench/model',
  engines: [...several('prefill', prefillPort), ...several('decode', decodePort)],
  serving: { max_connections: 20_000, max_request_bytes: 64 * 2 ** 20 },
});
if (has('--fronted')) fleet.client.interceptors.request.use((config) => config);

const path = join(tmpdir(), `narwhal-bench-${process.pid}.jsonl`);
process.on('exit', () => rmSync(path, { force: true }));
const router = narwhalRouter({
  fleet,
  apiKeys: ['bench-key'],
  journal: { path, maxBytes: 2 ** 30 },
  ...(has('--patient') ? { admissionGate: { maxDelayS: 60 } } : {}),
});
const app = express().disable('x-powered-by').disable('etag');
if (has('--parsed')) app.use(express.json({ limit: '64mb' }));
app.use(router);
const options = { keepAliveTimeout: 60_000, noDelay: true };
const server = has('--plain') ? http.createServer(options, app) : createServer(app, options);
server.listen(port, '127.0.0.1', 4096, () => process.send?.({ ports: [server.address().port] }));
tellAccounts();
