// Opens many streams, gently, and holds them. Says over the IPC channel when all are open, then what they got.
//   node hold.mjs --port P --streams 10000 --ramp 10 --seconds 8
// --ramp    seconds over which they are opened: all at once would overflow the backlog of the server
//           A refusal for want of capacity (429) is tried again after a second, as SDKs do.
// --seconds how long events are counted, from the moment at which every stream has had its first bytes
import net from 'node:net';
import { flag, requestBytes } from './request.mjs';

const port = Number(flag('port'));
const streams = Number(flag('streams'));
const rampMs = Number(flag('ramp', 1)) * 1000;
const seconds = Number(flag('seconds', 8));
/** A machine has about 28,000 ports for an address, and those of a run before wait for a minute. */
const PER_ADDRESS = 3000;
/** Streams that are not open so long after the ramp never will be. */
const PATIENCE_MS = 40_000;
const RETRY_MS = 1000;

const REQUEST = requestBytes({ port, stream: true });
const events = new Uint32Array(streams);
let begun = 0;
let answered = 0;
/** How many streams failed, by status or by the way they ended. */
const failures = {};
let refused = 0;
let isCounting = false;
let isOver = false;

function connect(at) {
  const localAddress = `127.0.0.${1 + Math.floor(at / PER_ADDRESS)}`;
  const socket = net.connect({ port, host: '127.0.0.1', localAddress, noDelay: true });
  let isFirst = true;
  let isRefused = false;
  const fail = (why) => {
    failures[why] = (failures[why] ?? 0) + 1;
  };
  socket.on('connect', () => socket.write(REQUEST));
  socket.on('error', ({ code }) => fail(code));
  socket.on('close', () => {
    if (!isOver && !isRefused) fail('closed');
  });
  socket.on('data', (bytes) => {
    if (!isFirst) {
      if (isCounting && bytes.includes('"ts":')) events[at]++;
      return;
    }
    isFirst = false;
    const status = bytes.toString('latin1', 9, 12);
    if (status === '429') {
      refused++;
      isRefused = true;
      socket.destroy();
      setTimeout(connect, RETRY_MS, at);
      return;
    }
    if (status !== '200') fail(status);
    if (++answered === streams) count();
  });
}

function count() {
  isCounting = true;
  process.send({ open: answered });
  setTimeout(end, seconds * 1000);
}

function end() {
  if (isOver) return;
  isOver = true;
  const least = events.reduce((lowest, n) => Math.min(lowest, n), Number.MAX_SAFE_INTEGER);
  const all = events.reduce((sum, n) => sum + n, 0);
  process.send({ answered, failures, refused, events: all, least }, () => process.exit(0));
}

const startedAt = performance.now();
const opening = setInterval(() => {
  const due = Math.min(streams, Math.ceil(((performance.now() - startedAt) / rampMs) * streams));
  while (begun < due) connect(begun++);
  if (begun < streams) return;
  clearInterval(opening);
  setTimeout(() => {
    if (!isCounting) end();
  }, PATIENCE_MS);
}, 10);
process.on('disconnect', () => process.exit(0));
