/** A gateway whose books are checked after each test: gauges at zero, and both ledgers of handoffs agree. */
import type { RequestHandler } from 'express';
import type { JournalRow, NarwhalRouterOptions } from '../../lib/index';
import type { StubCall, StubFleetOptions } from '../../lib/testing';
import { CHAT } from '../helpers/call';
import { closeLater } from '../helpers/close-all';
import { type Gateway, startGateway as startWhole } from '../helpers/create-app';
import { until } from '../integration/gateway';
import { type Reply, send } from '../testing/client';

export { CHAT, until };

/** A chat request that is right. */
export const BODY = { messages: [{ role: 'user', content: 'Say nonce-abc' }] };

export interface Setup {
  readonly stub?: StubFleetOptions;
  /** Sections put over the fleet file. */
  readonly file?: {
    readonly engines?: readonly object[];
    readonly serving?: object;
    readonly engine?: object;
    readonly recovery?: object;
    readonly controller?: object;
  };
  readonly router?: NarwhalRouterOptions;
  /** Mounted before the router. */
  readonly before?: readonly RequestHandler[];
  /** Handoffs whose prefill answer the router was never given. Default: none. */
  readonly untold?: number;
}

export interface WatchedGateway extends Gateway {
  post(body: object, path?: string): Promise<Reply>;
  /** Legs of requests that reached an engine: no probes, no reclaim legs. */
  legs(iid?: string): readonly StubCall[];
  reclaims(): readonly StubCall[];
  /** What `state()` says of one engine. */
  stateOf(iid: string): ReturnType<Gateway['router']['state']>['engines'][number];
  row(): Promise<JournalRow>;
}

/** Starts a gateway; retries wait next to nothing. */
export async function startGateway(setup: Setup = {}): Promise<WatchedGateway> {
  const { stub = {}, file = {}, router = {}, before = [], untold = 0 } = setup;
  const serving = { retry_base_s: 0.001, retry_cap_s: 0.001, ...file.serving };
  const gateway = await startWhole({
    stub,
    before,
    fleetFile: { ...file, serving },
    router: { closeTimeoutS: 0, ...router },
  });
  closeLater({ close: () => checkBooks(gateway, untold) });
  const legs = (iid?: string) =>
    gateway.fleet.calls.filter((call) => isLeg(call) && (iid === undefined || call.engine === iid));
  return {
    ...gateway,
    post: (body, path = CHAT) =>
      send(gateway.url + path, {
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    legs,
    reclaims: () => gateway.fleet.calls.filter(({ requestId }) => /-reclaim(-\d+)?$/.test(requestId)),
    stateOf: (iid) => gateway.router.state().engines.find((engine) => engine.iid === iid)!,
    row: () => gateway.journal.firstRow(),
  };
}

function isLeg({ leg, requestId }: StubCall): boolean {
  return ['prefill', 'decode', 'single'].includes(leg) && !/-reclaim|probe/.test(requestId);
}

/** Waits until nothing runs, then compares what the router and the engines say. */
export async function checkBooks({ router, fleet }: Gateway, untold: number): Promise<void> {
  await until(() => router.state().in_flight === 0 && router.state().handoffs.held === 0);
  await until(() => fleet.engines.every(({ inFlight }) => inFlight === 0));
  const { engines, seats_taken, queued } = router.state();
  expect({ seats_taken, queued }).toEqual({ seats_taken: 0, queued: 0 });
  for (const { prefills_in_flight, prefill_tokens, decodes_in_flight } of engines) {
    expect([prefills_in_flight, prefill_tokens, decodes_in_flight]).toEqual([0, 0, 0]);
  }
  // A probe may be between the engine and the router at any moment.
  await until(() => {
    const { produced, held } = router.state().handoffs;
    return held === 0 && fleet.ledger.produced - produced === untold;
  });
  const { produced, claimed, reclaimed, leased } = router.state().handoffs;
  expect(produced).toBe(claimed + reclaimed + leased);
  const { ledger } = fleet;
  expect(claimed).toBeLessThanOrEqual(ledger.claimed);
  expect(reclaimed).toBeLessThanOrEqual(ledger.released);
  expect(ledger.open.length + ledger.expired).toBeLessThanOrEqual(leased + untold);
}

/** The error of an envelope. */
export function errorOf({ text }: Pick<Reply, 'text'>): Record<string, unknown> {
  return (JSON.parse(text) as { error: Record<string, unknown> }).error;
}
