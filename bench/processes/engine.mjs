// The engines of the bench: one process, a prefill port and a decode port, as cheap as Node can be.
//   node engine.mjs <prefill port> <decode port>
// GET /set?n=64&interval=-1 changes the stream: n content events; interval -1 = one write, else ms apart, the
// first of them after `first` ms, or after `interval` where that is -1.
// Every event carries the time of its writing as `ts`, so that the load client can tell the lag.
import http from 'node:http';

const [prefillPort, decodePort] = process.argv.slice(2).map(Number);
const options = { n: 8, interval: -1, first: -1 };
const counts = { prefill: 0, decode: 0, wrong: 0 };

const ID = 'chatcmpl-0123456789abcdef0123456789abcdef';
const MODEL = 'bench/model';
const USAGE = { prompt_tokens: 17, total_tokens: 81, completion_tokens: 64, prompt_tokens_details: null };
const HANDOFF = {
  do_remote_prefill: true,
  do_remote_decode: false,
  remote_block_ids: [[11, 12, 13, 14, 15, 16, 17, 18]],
  remote_engine_id: '5f1c2d7e-0000-4000-8000-0123456789ab',
  remote_request_id: 'chatcmpl-bench-1a2b3c4d',
  remote_host: '127.0.0.1',
  remote_port: 5600,
  tp_size: 1,
};

const whole = (content, finish_reason, more) =>
  Buffer.from(
    JSON.stringify({
      id: ID,
      object: 'chat.completion',
      created: 1764452105,
      model: MODEL,
      choices: [{ index: 0, message: { role: 'assistant', content }, logprobs: null, finish_reason }],
      usage: USAGE,
      ...more,
    }),
  );
const PREFILL = whole('a', 'length', { kv_transfer_params: HANDOFF });

const event = (delta, finish, ts = '') =>
  `data: {"id":"${ID}","object":"chat.completion.chunk","created":1764452105,"model":"${MODEL}",${ts}` +
  `"choices":[{"index":0,"delta":${delta},"logprobs":null,"finish_reason":${finish},"token_ids":null}]}\n\n`;
const FIRST = event('{"role":"assistant","content":""}', 'null');
const LAST =
  event('{"content":""}', '"stop"') +
  `data: {"id":"${ID}","object":"chat.completion.chunk","created":1764452105,"model":"${MODEL}","choices":[],` +
  `"usage":${JSON.stringify(USAGE)}}\n\ndata: [DONE]\n\n`;

let madeFor = -1;
let stream;
let json;

/** The whole answer in both forms, made once for each n. */
function answers() {
  if (madeFor !== options.n) {
    const words = Array.from({ length: options.n }, (_, i) => ` tok${i}`);
    stream = Buffer.from(
      FIRST + words.map((word) => event(JSON.stringify({ content: word }), 'null')).join('') + LAST,
    );
    json = whole(words.join(''), 'stop', {});
    madeFor = options.n;
  }
  return { stream, json };
}

function readBody(req, done) {
  const parts = [];
  req.on('data', (part) => parts.push(part));
  req.on('end', () => done(parts.length === 1 ? parts[0] : Buffer.concat(parts)));
}

function sendJson(res, body) {
  res.writeHead(200, ['content-type', 'application/json', 'content-length', String(body.length)]);
  res.end(body);
}

function control(req, res) {
  const url = new URL(req.url, 'http://bench');
  if (url.pathname === '/set') {
    for (const [name, value] of url.searchParams) if (name in options) options[name] = Number(value);
  }
  sendJson(res, Buffer.from(JSON.stringify({ ...options, ...counts })));
}

function prefill(req, res) {
  if (req.method === 'GET') return control(req, res);
  readBody(req, (body) => {
    counts.prefill++;
    if (!body.includes('"max_tokens":1')) counts.wrong++;
    sendJson(res, PREFILL);
  });
}

function decode(req, res) {
  if (req.method === 'GET') return control(req, res);
  readBody(req, (body) => {
    counts.decode++;
    if (!body.includes('"remote_engine_id"')) counts.wrong++;
    if (!body.includes('"stream":true')) return sendJson(res, answers().json);
    res.writeHead(200, ['content-type', 'text/event-stream; charset=utf-8', 'transfer-encoding', 'chunked']);
    if (options.interval < 0) res.end(answers().stream);
    else pace(res);
  });
}

/** One event in one write, `interval` ms apart. */
function pace(res) {
  let sent = 0;
  let gone = false;
  res.on('close', () => {
    gone = true;
  });
  res.write(FIRST);
  const step = () => {
    if (gone) return;
    if (sent++ >= options.n) return res.end(LAST);
    const now = (performance.timeOrigin + performance.now()).toFixed(3);
    res.write(event(`{"content":" tok${sent}"}`, 'null', `"ts":${now},`));
    setTimeout(step, options.interval);
  };
  setTimeout(step, options.first < 0 ? options.interval : options.first);
}

/** Resolves with its port. */
function listen(handler, port) {
  const server = http.createServer({ keepAliveTimeout: 60_000, noDelay: true }, handler);
  return new Promise((resolve) => {
    server.listen(port, '127.0.0.1', 4096, () => resolve(server.address().port));
  });
}

const ports = [await listen(prefill, prefillPort), await listen(decode, decodePort)];
process.send?.({ ports });
process.on('disconnect', () => process.exit(0));
