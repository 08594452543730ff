/** What failed inside the gateway, or in a hook of the host, in the log: the client's 500 says nothing of it. */
import type { Logger } from '../logger';
import type { RequestObserver } from '../middlewares/journal-record';

/** Logs each request that ended as `internal`, once, with its id and stack. */
export function faultLog(logger: Logger): RequestObserver {
  return {
    ended({ cause, isLogged }, { rid, reason, error }) {
      if (reason !== 'internal' || isLogged) return;
      const stack = cause instanceof Error ? cause.stack : undefined;
      logger.error('a request failed inside the gateway', { rid, reason, detail: error, stack });
    },
  };
}
