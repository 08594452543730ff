// Each measured process tells its own CPU, memory and event-loop delay over the IPC channel, when asked.
import { monitorEventLoopDelay } from 'node:perf_hooks';

const delay = monitorEventLoopDelay({ resolution: 1 });

/** Call it in a process that the bench has started. */
export function tellAccounts() {
  delay.enable();
  process.on('message', (question) => {
    if (question === 'reset') {
      delay.reset();
      process.send({ reset: true });
    } else if (question === 'accounts') {
      const { user, system } = process.cpuUsage();
      process.send({
        cpuMs: (user + system) / 1000,
        rssMb: process.memoryUsage().rss / 2 ** 20,
        longestBlockMs: delay.max / 1e6,
      });
    }
  });
  // An orderly exit: a profile is written, a journal of the bench is removed.
  for (const end of ['disconnect', 'SIGTERM', 'SIGINT']) process.on(end, () => process.exit(0));
}
