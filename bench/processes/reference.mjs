// (a): the least that a two-leg gateway in Node can be. node:http in, undici out, the body parsed once and
// written twice; no validation, no journal, no health, no errors worth the name.
//   node reference.mjs <port> <prefill port> <decode port> [parse]
// With `parse`, the decode leg streams and every event is parsed into one answer.
import http from 'node:http';
import { Pool } from 'undici';
import { tellAccounts } from './accounting.mjs';

const [port, prefillPort, decodePort] = process.argv.slice(2, 5).map(Number);
const assembles = process.argv[5] === 'parse';
const options = {
  connections: null,
  pipelining: 1,
  bodyTimeout: 0,
  headersTimeout: 0,
  keepAliveTimeout: 30_000,
};
const prefill = new Pool(`http://127.0.0.1:${prefillPort}`, options);
const decode = new Pool(`http://127.0.0.1:${decodePort}`, options);
const headers = { 'content-type': 'application/json' };
const QUESTION = { do_remote_decode: true };

const call = (pool, path, body) =>
  pool.request({ path, method: 'POST', headers, body: JSON.stringify(body) });

async function serve(path, raw, res) {
  const body = JSON.parse(raw);
  const first = await call(prefill, path, {
    ...body,
    stream: false,
    stream_options: undefined,
    max_tokens: 1,
    kv_transfer_params: QUESTION,
  });
  const { kv_transfer_params } = await first.body.json();
  const streams = body.stream === true;
  if (streams || assembles) {
    const more = { stream: true, stream_options: { include_usage: true }, kv_transfer_params };
    const answer = await call(decode, path, { ...body, ...more });
    if (streams) relay(answer, res);
    else assemble(await answer.body.text(), res);
    return;
  }
  const answer = await call(decode, path, { ...body, kv_transfer_params });
  sendJson(res, Buffer.from(await answer.body.arrayBuffer()));
}

function relay(answer, res) {
  res.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' });
  answer.body.on('data', (chunk) => res.write(chunk));
  answer.body.on('end', () => res.end());
}

function assemble(text, res) {
  const parts = [];
  let last;
  let usage = null;
  let finish = null;
  for (const frame of text.split('\n\n')) {
    if (!frame.startsWith('data: {')) continue;
    const chunk = JSON.parse(frame.slice(6));
    const choice = chunk.choices[0];
    if (choice?.delta.content) parts.push(choice.delta.content);
    if (choice?.finish_reason) finish = choice.finish_reason;
    if (chunk.usage) usage = chunk.usage;
    last = chunk;
  }
  const message = { role: 'assistant', content: parts.join('') };
  const choices = [{ index: 0, message, logprobs: null, finish_reason: finish }];
  const { id, created, model } = last;
  sendJson(
    res,
    Buffer.from(JSON.stringify({ id, object: 'chat.completion', created, model, choices, usage })),
  );
}

function sendJson(res, body) {
  res.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length });
  res.end(body);
}

const server = http.createServer({ keepAliveTimeout: 60_000, noDelay: true }, (req, res) => {
  const parts = [];
  req.on('data', (part) => parts.push(part));
  req.on('end', () => {
    const raw = parts.length === 1 ? parts[0] : Buffer.concat(parts);
    serve(req.url, raw, res).catch(() => res.destroy());
  });
});
server.listen(port, '127.0.0.1', 4096, () => process.send?.({ ports: [server.address().port] }));
tellAccounts();
