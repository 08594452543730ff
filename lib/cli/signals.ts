/** Signals that end the process. */

/** Exit codes of a process that a signal has ended. */
const CODES = { SIGINT: 130, SIGTERM: 143 } as const;

/**
 * Ends in order at SIGINT or SIGTERM, with code 0; a second signal ends the process at once.
 *
 * @param close ends everything; what it throws is said, and the code is 1.
 */
export function endOnSignal(close: () => Promise<void>): void {
  const stop = (): void => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.off(signal, stop);
      process.once(signal, () => process.exit(CODES[signal]));
    }
    close().then(
      () => process.exit(0),
      (error: unknown) => {
        console.error(`narwhal: ${error instanceof Error ? error.message : String(error)}`);
        process.exit(1);
      },
    );
  };
  process.once('SIGINT', stop);
  process.once('SIGTERM', stop);
}
