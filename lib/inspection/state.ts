/** What a router is doing now, as plain data. */
import type { Seats } from '../admission/seats';
import type { EngineRole } from '../config/fleet-config';
import type { CountedClass, Engine } from '../engines/engine';
import type { Fleet } from '../engines/fleet';
import type { LedgerCounts } from '../engines/handoff-tally';
import type { Journal } from '../journal/journal';
import type { Serving } from '../serving/dispatch';
import type { Shutdown } from '../serving/shutdown';

/** One engine now. Addresses are left out: the page may be shown to people who may not know them. */
export interface EngineState {
  /** Its name in the fleet file. */
  readonly iid: string;
  /** What it does. */
  readonly role: EngineRole;
  /** `live`, or why it takes no new work. */
  readonly state: 'live' | 'ejected' | 'drained';
  /** Prefill legs that run on it. */
  readonly prefills_in_flight: number;
  /** Tokens of their prompts. */
  readonly prefill_tokens: number;
  /** Decode legs that run on it, and whole requests of an engine of role `both`. */
  readonly decodes_in_flight: number;
  /** What became of the handoffs that it made for this router. */
  readonly handoffs: LedgerCounts;
  /** How often it was ejected since the start. */
  readonly ejections: number;
  /** Failed legs, and liveness probes without an answer, since the start. */
  readonly failures: Readonly<Record<CountedClass, number>>;
  /** Class of evidence that ejected it; null while it is not ejected. */
  readonly suspicion: string | null;
}

/** The answer of `state()` and of `GET /narwhal/state`. */
export interface RouterState {
  /** `draining` from `close()` on. */
  readonly status: 'serving' | 'draining';
  /** The model of the fleet file. */
  readonly model: string;
  /** Requests from arrival to their journal row. */
  readonly in_flight: number;
  /** Requests that were admitted and run. */
  readonly seats_taken: number;
  /** Requests that wait for a seat. */
  readonly queued: number;
  /** Retries that may be made now. */
  readonly retry_budget: number;
  /** Retries since the start. */
  readonly retries: number;
  /** Rows that could not be kept, since the start. */
  readonly journal_rows_lost: number;
  /** Where the handoffs of requests and probes are: counts since the start, `held` now. */
  readonly handoffs: LedgerCounts;
  /** Every engine of the fleet file, in its order. */
  readonly engines: readonly EngineState[];
}

/** Takes the state of a router's parts. */
export function fleetState(
  fleet: Fleet,
  { retries }: Serving,
  seats: Seats,
  journal: Journal,
  shutdown: Shutdown,
): RouterState {
  return {
    status: shutdown.isClosing ? 'draining' : 'serving',
    model: fleet.config.model,
    in_flight: shutdown.running,
    seats_taken: seats.taken,
    queued: seats.waiting,
    retry_budget: retries.left,
    retries: retries.made,
    journal_rows_lost: journal.lost,
    handoffs: fleet.ledger.counts(),
    engines: fleet.engines.map(engineState),
  };
}

function engineState(engine: Engine): EngineState {
  const { breaker } = engine;
  return {
    iid: engine.iid,
    role: engine.config.role,
    state: engine.outOfPlacement ?? 'live',
    prefills_in_flight: engine.prefills,
    prefill_tokens: engine.prefillTokens,
    decodes_in_flight: engine.decodes,
    handoffs: engine.handoffs.counts(),
    ejections: engine.ejections,
    failures: { ...engine.failures },
    suspicion: breaker.kind === 'ejected' ? breaker.suspicion : null,
  };
}
