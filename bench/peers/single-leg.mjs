// http-proxy-middleware in front of the decode port: one leg, half the work of a gateway of two.
//   node single-leg.mjs <port> <decode port> <folder with node_modules>
import http from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const [port, decodePort, folder] = process.argv.slice(2);
const { createProxyMiddleware } = createRequire(join(folder, 'x.js'))('http-proxy-middleware');
const proxy = createProxyMiddleware({
  target: `http://127.0.0.1:${decodePort}`,
  agent: new http.Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY }),
});
const server = http.createServer({ keepAliveTimeout: 60_000, noDelay: true }, (req, res) => {
  proxy(req, res, () => res.destroy());
});
server.listen(Number(port), '127.0.0.1', 4096);
