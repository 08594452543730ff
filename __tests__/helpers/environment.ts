/** The test environment: Node's, and a test file that leaves a socket, a server or a child process open fails. */
import { TestEnvironment } from 'jest-environment-node';

/** Of what keeps a process alive, the kinds that jest itself does not have (`process.getActiveResourcesInfo()`). */
const KEPT = new Set(['TCPServerWrap', 'TCPSocketWrap', 'ProcessWrap']);

/** Sockets need a moment between the call that closes them and their end. */
const PATIENCE_MS = 3000;

export default class StrictEnvironment extends TestEnvironment {
  override async teardown(): Promise<void> {
    await super.teardown();
    const deadline = Date.now() + PATIENCE_MS;
    while (openHandles().length > 0) {
      if (Date.now() > deadline) throw new Error(`left open after the tests: ${openHandles().join(', ')}`);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

function openHandles(): string[] {
  return process.getActiveResourcesInfo().filter((name) => KEPT.has(name));
}
