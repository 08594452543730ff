/** An address that neither accepts nor refuses: a stopped process whose backlog is full. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { closeLater } from '../helpers/close-all';

/** @returns the port; all is ended after the test. */
export async function openBlackHole(): Promise<number> {
  const script = `const s = require('node:net').createServer();
    s.listen(0, '127.0.0.1', 1, () => console.log(s.address().port));`;
  const child: ChildProcess = spawn(process.execPath, ['-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const fillers: Socket[] = [];
  closeLater({
    close() {
      for (const socket of fillers) socket.destroy();
      child.kill('SIGKILL');
    },
  });
  const [text] = (await once(child.stdout!, 'data')) as [Buffer];
  const port = Number(text.toString());
  child.kill('SIGSTOP');
  // The kernel completes one or two handshakes for the backlog; from then on it drops what comes.
  for (let i = 0; i < 4; i++) fillers.push(connect(port, '127.0.0.1').on('error', () => undefined));
  await once(fillers[0]!, 'connect');
  return port;
}
