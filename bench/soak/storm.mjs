// The storm: a gateway, a stub fleet, clients and weather in one process, and the books at the end.
import http from 'node:http';
import express from 'express';
import { narwhalRouter } from 'express-narwhal';
import { startStubFleet } from 'express-narwhal/testing';
import { check, handoffInvariants, listed, none } from './checks.mjs';
import { plan, send } from './clients.mjs';
import { IdBook } from './id-book.mjs';
import { seeded } from './random.mjs';
import { Weather } from './weather.mjs';

/** Requests between two looks at the books. */
const BATCH = 500;
const CONCURRENCY = 24;
/** Requests before the heap is measured for the first time. */
const WARM_UP = 2000;

/** Short limits, so that stalled engines are noticed within the storm. */
const LIMITS = {
  serving: {
    prefill_timeout_s: 1,
    request_timeout_s: 10,
    max_attempts: 3,
    retry_budget: 1000,
    retry_base_s: 0.02,
  },
  engine: { first_token_timeout_s: 1, decode_read_timeout_s: 1, connect_timeout_s: 1, health_timeout_s: 1 },
  recovery: { liveness_every: 5, readmit_every: 3 },
  controller: { monitor_interval_s: 0.1 },
};

export class Storm {
  counts = { requests: 0, arrived: 0, rows: 0, seen: {}, terminals: {}, kv: {} };
  #handoffs = { produced: 0, claimed: 0, released: 0, left: 0 };
  #rids = new IdBook();
  #breaches = [];
  #rejections = [];
  #foreign = 0;

  static async start({ seed }) {
    const storm = new Storm();
    storm.random = seeded(seed);
    storm.fleet = await startStubFleet({ prefill: 3, decode: 3, tokenDelayMs: 1 });
    const write = (row) => storm.#note(row);
    const logger = { debug() {}, info() {}, warn() {}, error() {} };
    storm.router = narwhalRouter({
      fleet: storm.fleet.fleetFile(LIMITS),
      journal: { write, close() {} },
      logger,
    });
    storm.server = http.createServer(express().use(storm.router));
    storm.server.on('request', () => storm.counts.arrived++);
    await new Promise((resolve) => storm.server.listen(0, '127.0.0.1', resolve));
    storm.agent = new http.Agent({ keepAlive: true, maxSockets: CONCURRENCY });
    process.on('unhandledRejection', (reason) => storm.#rejections.push(String(reason)));
    return storm;
  }

  /** Runs the storm and settles the books. */
  async run({ requests, seconds, progress }) {
    const startedAt = performance.now();
    const isOver = () => seconds > 0 && performance.now() - startedAt > seconds * 1000;
    let heapAtStart = 0;
    while (this.counts.requests < requests && !isOver()) {
      await this.#batch(Math.min(BATCH, requests - this.counts.requests));
      // The first batches warm the process up: code and pools that they make are not a leak.
      if (heapAtStart === 0 && this.counts.requests >= WARM_UP) heapAtStart = heapUsed();
      const rate = Math.round(this.counts.requests / ((performance.now() - startedAt) / 1000));
      progress(`${this.counts.requests} requests, ${rate}/s, ${JSON.stringify(this.counts.terminals)}`);
    }
    const heapAtEnd = heapUsed();
    if (heapAtStart === 0) heapAtStart = heapAtEnd;
    const state = this.router.state();
    await this.#close();
    return this.#result({ state, heapAtStart, heapAtEnd, seconds: (performance.now() - startedAt) / 1000 });
  }

  async #batch(size) {
    const weather = new Weather(this.fleet, this.random);
    weather.start();
    const port = this.server.address().port;
    const plans = Array.from({ length: size }, () => plan(this.random, this.counts.requests++));
    const clients = Array.from({ length: CONCURRENCY }, async () => {
      for (let next = plans.pop(); next !== undefined; next = plans.pop()) {
        const seen = await send(port, this.agent, next);
        if (seen.kind === 'foreign') this.#foreign++;
        const word = seen.kind === 'refused' ? String(seen.status) : seen.kind;
        this.counts.seen[word] = (this.counts.seen[word] ?? 0) + 1;
      }
    });
    await Promise.all(clients);
    await weather.clear();
    await this.#quiet();
    this.#settleBooks();
  }

  /** Waits until nothing runs for any request and every engine is back in placement. */
  async #quiet() {
    for (let i = 0; i < 600; i++) {
      const { in_flight, engines } = this.router.state();
      const busy = this.fleet.engines.some((engine) => engine.inFlight > 0);
      if (in_flight === 0 && !busy && engines.every(({ state }) => state === 'live')) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  #settleBooks() {
    const { produced, claimed, expired, released, open } = this.fleet.ledger;
    const books = this.#handoffs;
    books.produced += produced;
    books.claimed += claimed;
    books.released += released;
    books.left += open.length + expired;
    this.#breaches.push(...this.fleet.breaches);
    this.fleet.reset();
  }

  #note({ rid, terminal, kv }) {
    this.counts.rows++;
    this.#rids.add(rid);
    this.counts.terminals[terminal] = (this.counts.terminals[terminal] ?? 0) + 1;
    this.counts.kv[kv] = (this.counts.kv[kv] ?? 0) + 1;
  }

  async #close() {
    await this.router.close();
    this.agent.destroy();
    await new Promise((resolve) => this.server.close(resolve));
    await new Promise((resolve) => setTimeout(resolve, 100));
    const sockets = this.fleet.engines.map((engine) => engine.openSockets);
    this.socketsAfterClose = sockets.reduce((a, b) => a + b, 0);
    await this.fleet.close();
  }

  #result({ state, heapAtStart, heapAtEnd, seconds }) {
    const { requests, arrived, rows, seen } = this.counts;
    const { handoffs: router, engines, ...gauges } = state;
    const loads = engines.flatMap((e) => [e.prefills_in_flight, e.prefill_tokens, e.decodes_in_flight]);
    const zero = [gauges.in_flight, gauges.seats_taken, gauges.queued, router.held, ...loads];
    const untold = (seen.broken ?? 0) + (seen.unended ?? 0);
    const growth = heapAtEnd / heapAtStart - 1;
    const invariants = {
      'rows = requests that arrived': check(
        rows === arrived,
        `${rows} rows, ${arrived} of ${requests} arrived`,
      ),
      'each rid once': none(this.#rids.repeated()),
      'breaches at the engines': check(this.#breaches.length === 0, listed(this.#breaches)),
      ...handoffInvariants(router, this.#handoffs),
      'gauges 0': check(
        zero.every((value) => value === 0),
        zero.join(' '),
      ),
      'open sockets 0': none(this.socketsAfterClose),
      'no unhandled rejection': check(this.#rejections.length === 0, listed(this.#rejections)),
      'no answer of another client': none(this.#foreign),
      'no client cut without a word': none(untold),
      'heap within 10 %': check(
        growth < 0.1,
        `${megabytes(heapAtStart)} to ${megabytes(heapAtEnd)}, ${(growth * 100).toFixed(1)} %${globalThis.gc ? '' : ' (run with --expose-gc)'}`,
      ),
    };
    const ok = Object.values(invariants).every((invariant) => invariant.ok);
    const handoffs = { router, engines: this.#handoffs };
    return { ok, seconds: Math.round(seconds), counts: this.counts, handoffs, invariants };
  }
}

/** Bytes of heap after a collection; Infinity-free without --expose-gc too, only less exact. */
function heapUsed() {
  globalThis.gc?.();
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}

function megabytes(bytes) {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
