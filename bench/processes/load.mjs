// A closed-loop load client on raw keep-alive sockets; bounded in time. Prints one JSON line.
//   node load.mjs --port P --clients 16 --seconds 2 [--requests N] [--stream] [--lag] [--kb 0] [--decode]
// --requests ends when so many have been answered, and not by time: for a warm-up
// --kb       pads the prompt; --lag reads the engine's `ts`; --decode sends a decode leg straight to an engine
// --header   'name: value', one more header
import net from 'node:net';
import { flag, requestBytes } from './request.mjs';

const port = Number(flag('port'));
const clients = Number(flag('clients', 16));
const wanted = Number(flag('requests', 0));
/** Ends a warm-up that gets nowhere. */
const WARM_LIMIT_S = 180;
const seconds = wanted > 0 ? WARM_LIMIT_S : Math.min(Number(flag('seconds', 2)), 60);
const has = (name) => process.argv.includes(`--${name}`);
const wantsLag = has('lag');
/** Requests of the first quarter second are not counted. */
const RAMP_MS = 250;

const REQUEST = requestBytes({
  port,
  kb: Number(flag('kb', 0)),
  stream: has('stream'),
  decode: has('decode'),
  headers: process.argv.filter((_, at) => process.argv[at - 1] === '--header'),
});
const END = Buffer.from('\r\n0\r\n\r\n');
const latencies = [];
const lags = [];
let done = 0;
let counted = 0;
let bad = 0;
let errors = 0;
let isOver = false;
let open = 0;
let from = performance.now();
let until = 0;
let before = 0;

/** One client: the next request goes out when the answer before it is whole. */
function connect() {
  const socket = net.connect({ port, host: '127.0.0.1', noDelay: true });
  let sentAt = 0;
  let head = null;
  let remaining = -1;
  let tail = Buffer.alloc(0);
  open++;
  const send = () => {
    if (isOver) return socket.destroy();
    sentAt = performance.now();
    head = Buffer.alloc(0);
    socket.write(REQUEST);
  };
  const finish = () => {
    done++;
    latencies.push(performance.now() - sentAt);
    if (done === wanted) over();
    send();
  };
  const readHead = (bytes) => {
    head = Buffer.concat([head, bytes]);
    const end = head.indexOf('\r\n\r\n');
    if (end === -1) return null;
    const text = head.toString('latin1', 0, end).toLowerCase();
    if (text.slice(9, 12) !== '200') bad++;
    const length = /content-length: *(\d+)/.exec(text);
    remaining = length === null ? -1 : Number(length[1]);
    const rest = head.subarray(length === null ? end + 2 : end + 4);
    head = null;
    tail = Buffer.alloc(0);
    return rest;
  };
  socket.on('connect', send);
  socket.on('error', () => errors++);
  socket.on('close', () => {
    if (!isOver) errors++;
    if (--open === 0) report();
  });
  socket.on('data', (bytes) => {
    const rest = head === null ? bytes : readHead(bytes);
    if (rest === null) return;
    if (wantsLag) noteLag(rest);
    if (remaining >= 0) {
      remaining -= rest.length;
      if (remaining <= 0) finish();
      return;
    }
    tail = rest.length >= END.length ? rest : Buffer.concat([tail, rest]).subarray(-16);
    if (tail.subarray(-END.length).equals(END)) finish();
  });
}

function noteLag(bytes) {
  const now = performance.timeOrigin + performance.now();
  const text = bytes.toString('latin1');
  for (let at = text.indexOf('"ts":'); at !== -1; at = text.indexOf('"ts":', at + 1)) {
    lags.push(now - Number.parseFloat(text.slice(at + 5, at + 23)));
  }
}

function quantile(values, share) {
  values.sort((a, b) => a - b);
  return values.length === 0 ? null : values[Math.min(values.length - 1, Math.floor(values.length * share))];
}

function over() {
  if (isOver) return;
  until = performance.now();
  counted = done - before;
  isOver = true;
  setTimeout(report, 5000);
}

function report() {
  console.log(
    JSON.stringify({
      perSecond: counted / ((until - from) / 1000),
      done,
      p50: quantile(latencies, 0.5),
      p99: quantile(latencies, 0.99),
      lag50: quantile(lags, 0.5),
      lag99: quantile(lags, 0.99),
      bad,
      errors,
    }),
  );
  process.exit(0);
}

for (let i = 0; i < clients; i++) connect();
setTimeout(() => {
  before = done;
  from = performance.now();
  latencies.length = 0;
  lags.length = 0;
}, RAMP_MS);
setTimeout(over, RAMP_MS + seconds * 1000);
