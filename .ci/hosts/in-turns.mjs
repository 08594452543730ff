/** Runs jobs side by side, no more of them than there are cores. */
import { availableParallelism } from 'node:os';

/** @param {readonly (() => Promise<void>)[]} jobs */
export async function inTurns(jobs) {
  const waiting = [...jobs];
  const worker = async () => {
    for (let job = waiting.shift(); job !== undefined; job = waiting.shift()) await job();
  };
  await Promise.all(Array.from({ length: Math.min(4, availableParallelism()) }, worker));
}
