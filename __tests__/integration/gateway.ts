/** A gateway over stub engines for tests that look at its legs, rows and lines. */
import type { RequestHandler } from 'express';
import type { JournalRow, NarwhalRouter, NarwhalRouterOptions } from '../../lib/index';
import type { StubCall, StubFleet, StubFleetOptions } from '../../lib/testing';
import { CHAT, COMPLETIONS } from '../helpers/call';
import { startGateway as startWhole } from '../helpers/create-app';
import { type Reply, send } from '../testing/client';

export { CHAT, COMPLETIONS };
export const HI = [{ role: 'user', content: 'hi' }];

export interface Setup {
  readonly stub?: StubFleetOptions;
  /** Sections put over the fleet file. */
  readonly file?: {
    readonly serving?: object;
    readonly engine?: object;
    readonly engines?: object[];
    readonly slo?: object;
  };
  readonly options?: Omit<NarwhalRouterOptions, 'fleet' | 'journal' | 'logger'>;
  /** What the host mounts before the router. */
  readonly before?: readonly RequestHandler[];
  /** Breaches are the subject of the test, or what it cannot help. */
  readonly breaches?: boolean;
}

export interface Gateway {
  readonly url: string;
  readonly fleet: StubFleet;
  readonly router: NarwhalRouter;
  /** Sends a body to a route of the gateway; resolves also when the connection breaks. */
  post(path: string, body: object | string | Buffer, headers?: Record<string, string>): Promise<Reply>;
  /** Waits until there are this many rows. */
  rowsOf(count: number): Promise<readonly JournalRow[]>;
  /** Waits for the first row. */
  row(): Promise<JournalRow>;
  /** The legs of requests that reached an engine: no probes, no reclaim legs. */
  readonly legs: readonly StubCall[];
  /** Those of one engine. */
  legsAt(iid: string): readonly StubCall[];
  /** Everything that was logged. */
  readonly logText: string;
}

/** Starts a gateway; retries wait next to nothing. It is closed after the test, which fails on breaches. */
export async function startGateway(setup: Setup = {}): Promise<Gateway> {
  const { stub = {}, file = {}, before = [] } = setup;
  const serving = { retry_base_s: 0.001, retry_cap_s: 0.001, ...file.serving };
  const { url, fleet, router, journal, logger } = await startWhole({
    stub,
    before,
    fleetFile: { ...file, serving },
    router: { closeTimeoutS: 0, ...setup.options },
    breachesExpected: setup.breaches ?? false,
  });
  return {
    url,
    fleet,
    router,
    post(path, body, headers = {}) {
      const sent = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
      return send(url + path, { headers: { 'content-type': 'application/json', ...headers }, body: sent });
    },
    rowsOf: (count) => journal.waitForRows(count),
    row: () => journal.firstRow(),
    get legs() {
      return fleet.calls.filter(isLeg);
    },
    legsAt: (iid) => fleet.engine(iid).calls.filter(isLeg),
    get logText() {
      return logger.text;
    },
  };
}

function isLeg({ leg, requestId }: StubCall): boolean {
  return ['prefill', 'decode', 'single'].includes(leg) && !/-reclaim|probe/.test(requestId);
}

/** Waits for a fact. It gives up before the test does, so that no loop outlives a failed test. */
export async function until(fact: () => boolean): Promise<void> {
  const last = performance.now() + 15_000;
  while (!fact()) {
    if (performance.now() > last) throw new Error(`never came true: ${String(fact)}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

/** The error of an envelope. */
export function errorOf({ text }: Reply): Record<string, unknown> {
  return (JSON.parse(text) as { error: Record<string, unknown> }).error;
}

/** The choices of an answer that was not streamed. */
export function choicesOf({ text }: Reply): Record<string, unknown>[] {
  return (JSON.parse(text) as { choices: Record<string, unknown>[] }).choices;
}
