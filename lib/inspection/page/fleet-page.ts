/** The fleet page: `GET /narwhal/`, and the events that it lives on. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { SeatLimits } from '../../admission/seats';
import type { Fleet } from '../../engines/fleet';
import { packageVersion } from '../../journal/journal';
import type { JournalRow } from '../../journal/row';
import { enter } from '../../middlewares/handler';
import type { RequestObserver } from '../../middlewares/journal-record';
import { pathOf } from '../../request/route';
import type { Guard } from '../safe-observer';
import { sendText } from '../send-text';
import type { RouterState } from '../state';
import { pageDocument } from './document';
import { engineView } from './engine-view';
import { FailedRequests } from './failed-requests';
import type { PageFrame } from './frame';
import { BIN_S, History } from './history';
import { MAX_VIEWERS, Viewers } from './viewers';

/** What the page shows. */
export interface FleetPageParts {
  readonly fleet: Fleet;
  readonly state: () => RouterState;
  readonly seats: SeatLimits;
  /** The state asks the host's journal, which may throw: no timer may. */
  readonly guard: Guard;
}

/** The paths below the mount point, without a slash at their end. */
const PAGE_PATH = '/narwhal';
const EVENTS_PATH = '/narwhal/events';

/** The page of one router. Its `ended` counts the requests. */
export class FleetPage {
  readonly #parts: FleetPageParts;
  readonly #document = pageDocument();
  readonly #version = packageVersion();
  readonly #history = new History();
  readonly #failed = new FailedRequests();
  readonly #viewers = new Viewers(() =>
    this.#parts.guard.run(() => JSON.stringify(this.frame(performance.now())), null),
  );
  readonly #startedAt = performance.now();
  #isClosed = false;

  constructor(parts: FleetPageParts) {
    this.#parts = parts;
  }

  /** Counts each request that is over: a few additions on fixed memory. */
  readonly observer: RequestObserver = {
    ended: (_context, row: JournalRow) => {
      this.#history.note(row);
      this.#failed.note(row);
    },
  };

  /** Whether a path, without a slash at its end, is the page's. */
  owns(path: string): boolean {
    return path === PAGE_PATH || path === EVENTS_PATH;
  }

  /** Answers a GET or HEAD for a path that it owns. */
  serve(path: string, req: IncomingMessage, res: ServerResponse): void {
    enter(req, res);
    this.#protect(res);
    if (path === EVENTS_PATH) this.#sendEvents(req, res);
    else if (pathOf(req.url ?? '').endsWith('/')) {
      sendText(req, res, { status: 200, type: 'text/html; charset=utf-8', text: this.#document.html });
    } else {
      // Relative, because only the browser knows the whole path; the page itself asks for `events` that way.
      res.setHeader('location', 'narwhal/');
      sendText(req, res, { status: 302, type: TEXT, text: 'the page is at narwhal/\n' });
    }
  }

  /** Ends every stream of events at once; whoever comes later is told why there is none. */
  close(): void {
    this.#isClosed = true;
    this.#viewers.close();
  }

  #sendEvents(req: IncomingMessage, res: ServerResponse): void {
    if (this.#isClosed) {
      sendText(req, res, { status: 503, type: TEXT, text: 'The gateway is shutting down.\n' });
    } else if (this.#viewers.isFull) {
      const text = `${MAX_VIEWERS} people watch already, and no more can. Try again later.\n`;
      sendText(req, res, { status: 503, type: TEXT, text });
    } else if (req.method === 'HEAD') {
      // No length: that of a stream is not known.
      res.setHeader('content-type', 'text/event-stream; charset=utf-8');
      res.end();
    } else this.#viewers.add(req, res);
  }

  /** The policy is the page's own, whatever the host has set for its pages. */
  #protect(res: ServerResponse): void {
    res.removeHeader('content-security-policy-report-only');
    res.setHeader('content-security-policy', this.#document.policy);
    res.setHeader('x-content-type-options', 'nosniff');
    res.setHeader('referrer-policy', 'no-referrer');
    res.setHeader('cache-control', 'no-store');
  }

  /** @param now monotonic ms. */
  frame(now: number): PageFrame {
    const { fleet, seats } = this.#parts;
    const state = this.#parts.state();
    const { bins, firstByte, tokenInterval, recent, total, refusals } = this.#history.view(now / 1000);
    const { failureQuarantineS } = fleet.config.recovery;
    return {
      version: this.#version,
      model: state.model,
      status: state.status,
      uptime_s: Math.floor((now - this.#startedAt) / 1000),
      shape: fleet.shape(),
      in_flight: state.in_flight,
      queued: state.queued,
      queue_capacity: seats.queueTimeoutS > 0 ? seats.queueCapacity : 0,
      seats_taken: state.seats_taken,
      seats: seats.seats,
      handoffs_held: state.handoffs.held,
      retries: state.retries,
      journal_rows_lost: state.journal_rows_lost,
      engines: fleet.engines.map((engine) => engineView(engine, failureQuarantineS, now)),
      bin_s: BIN_S,
      bins,
      first_byte: firstByte,
      token_interval: tokenInterval,
      recent,
      total,
      refusals,
      failures: this.#failed.view(now / 1000),
    };
  }
}

const TEXT = 'text/plain; charset=utf-8';
