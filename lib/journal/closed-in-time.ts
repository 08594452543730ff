/** The end of a journal, bounded: a file system that hangs must not keep the process. */
import type { Logger } from '../logger';
import type { Journal } from './journal';

/** Longest wait for a journal to close, in milliseconds. */
const PATIENCE_MS = 5000;

/** Closes a journal; after five seconds its last rows are given up, and that is logged. Never rejects. */
export async function closedInTime(journal: Journal, logger: Logger): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<void>((resolve) => {
    timer = setTimeout(() => {
      logger.error('the journal did not close in time; its last rows may be lost');
      resolve();
    }, PATIENCE_MS);
  });
  await Promise.race([journal.close(), tooLate]);
  clearTimeout(timer);
}
