/** An observer's failure is told to the operator once, and fails no request. */
import type { IncomingMessage } from 'node:http';
import type { RequestContext } from '../context';
import type { JournalRow } from '../journal/row';
import type { Logger } from '../logger';
import type { RequestObserver } from '../middlewares/journal-record';

/** Runs what may throw. */
export class Guard {
  readonly #logger: Logger;
  #told = false;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** @returns what the step returned; `otherwise` where it threw. */
  run<T>(step: () => T, otherwise: T): T {
    try {
      return step();
    } catch (error) {
      this.tell(error);
      return otherwise;
    }
  }

  /** Tells the operator of a failure: of the first one. */
  tell(error: unknown): void {
    if (this.#told) return;
    this.#told = true;
    const text = error instanceof Error ? error.message : String(error);
    this.#logger.warn('metrics or telemetry failed; requests go on without', { error: text });
  }
}

/** Makes an observer safe to call. */
export function safeObserver(observer: RequestObserver, guard: Guard): RequestObserver {
  return {
    arrived(context: RequestContext, req: IncomingMessage): void {
      try {
        observer.arrived?.(context, req);
      } catch (error) {
        guard.tell(error);
      }
    },
    ended(context: RequestContext, row: JournalRow): void {
      try {
        observer.ended(context, row);
      } catch (error) {
        guard.tell(error);
      }
    },
  };
}
