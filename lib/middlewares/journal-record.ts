/** Writes the one row of each request that it sees. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Outcome, RequestContext } from '../context';
import { ConfigError } from '../errors';
import type { Journal } from '../journal/journal';
import { buildRow, type JournalRow } from '../journal/row';
import { checkOptions } from '../options';
import { enter, type NarwhalHandler } from './handler';

/** Told of each request: the one seam for whatever else than a journal wants to know of them. */
export interface RequestObserver {
  /** A request has come in. */
  arrived?(context: RequestContext, req: IncomingMessage): void;
  /** A request and all work for it are over. */
  ended(context: RequestContext, row: JournalRow): void;
}

/** Options of `journalRecord`. */
export interface JournalRecordOptions {
  /** The journal: `createJournal(...)`. Closing it stays the caller's. */
  readonly journal: Journal;
}

/**
 * Opens the request's context and writes its row when everything of the request is over: the response,
 * and whatever still works for it.
 *
 * Mount it before what it records. A handler of the host that ends the response by itself is recorded by
 * its status.
 *
 * @example
 * ```ts
 * import express from 'express';
 * import { createJournal, journalRecord, samplingGuard } from 'express-narwhal';
 *
 * const journal = createJournal({ write: (row) => console.log(row.status, row.reason), close: () => undefined });
 * express().use(journalRecord({ journal }), samplingGuard());
 * ```
 *
 * @throws {ConfigError} without a journal.
 */
export function journalRecord(options: JournalRecordOptions): NarwhalHandler {
  const { journal } = checkOptions('journalRecord', options, ['journal']);
  if (typeof journal?.write !== 'function' || typeof journal.run !== 'string') {
    throw new ConfigError("journalRecord: journal is missing; make one with createJournal('journal.jsonl')");
  }
  return recordTo(journal, []);
}

/** The middleware itself, with observers beside the journal. */
export function recordTo(journal: Journal, observers: readonly RequestObserver[]): NarwhalHandler {
  return function record(req, res, next) {
    const context = enter(req, res);
    if (isFirst(context, journal)) {
      context.whenClosed(res, () => {
        const endedAt = performance.now();
        context.conclude(outcomeAtClose(context, res));
        context.whenIdle(() => {
          const row = buildRow(context, journal.run, endedAt);
          journal.write(row);
          for (const observer of observers) observer.ended(context, row);
        });
      });
      for (const observer of observers) observer.arrived?.(context, req);
    }
    next();
  };
}

/** Mounted twice, by one factory or two, it still writes one row into a journal. */
function isFirst({ journals }: RequestContext, journal: Journal): boolean {
  if (journals.includes(journal)) return false;
  journals.push(journal);
  return true;
}

/** A response that was cut before its end is a client that left, whatever was about to be said. */
function outcomeAtClose({ outcome }: RequestContext, res: ServerResponse): Outcome {
  if (!res.writableFinished && (outcome === null || outcome.terminal === 'completed')) {
    return { terminal: 'cancelled', reason: 'client_closed', status: 499, error: null };
  }
  if (outcome === null) return outcomeOfStatus(res.statusCode);
  // With `onError: 'next'` the host answers, and may choose another status.
  return res.headersSent ? { ...outcome, status: res.statusCode } : outcome;
}

/** The outcome of an answer that the host gave without telling us. */
function outcomeOfStatus(status: number): Outcome {
  if (status < 400) return { terminal: 'completed', reason: null, status, error: null };
  const known = OF_STATUS[status] ?? (status < 500 ? OF_STATUS[400]! : OF_STATUS[500]!);
  return {
    ...known,
    status,
    error: `the host answered ${status} by itself; the reason is inferred from the status`,
  };
}

/** The nearest words of the fixed set; never one that would send an operator to the engines. */
const OF_STATUS: Readonly<Record<number, Pick<Outcome, 'terminal' | 'reason'>>> = {
  400: { terminal: 'invalid', reason: 'body_shape' },
  401: { terminal: 'rejected', reason: 'unauthenticated' },
  404: { terminal: 'invalid', reason: 'model' },
  405: { terminal: 'invalid', reason: 'method' },
  413: { terminal: 'invalid', reason: 'too_large' },
  415: { terminal: 'invalid', reason: 'encoding' },
  429: { terminal: 'rejected', reason: 'tenant_limit' },
  500: { terminal: 'failed', reason: 'internal' },
  503: { terminal: 'rejected', reason: 'shutting_down' },
};
