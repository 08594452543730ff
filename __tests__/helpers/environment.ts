/** The test environment: Node's, and a test file that leaves a socket, a server or a child process open fails. */
import { TestEnvironment } from 'jest-environment-node';

/** Of what keeps a process alive, the kinds that jest itself does not have (`process.getActiveResourcesInfo()`). */
const KEPT = ['TCPServerWrap', 'TCPSocketWrap', 'ProcessWrap'];

/** Longer than the 4 s for which Node's own fetch keeps an idle socket. */
const PATIENCE_MS = 6000;

export default class StrictEnvironment extends TestEnvironment {
  #before: readonly string[] = [];

  override async setup(): Promise<void> {
    await super.setup();
    this.#before = openHandles();
  }

  override async teardown(): Promise<void> {
    await super.teardown();
    const deadline = Date.now() + PATIENCE_MS;
    while (openHandles().length > this.#before.length) {
      if (Date.now() > deadline) throw new Error(`left open after the tests: ${openHandles().join(', ')}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

/** Open handles of the kinds that count. Files may share a process: only what one adds is its own. */
function openHandles(): string[] {
  return process.getActiveResourcesInfo().filter((name) => KEPT.includes(name));
}
