/** Lets a refused upload run out, so that the client gets to reading the answer. */
import type { IncomingMessage } from 'node:http';

/** How much of a refused upload is still taken. */
export interface DrainLimits {
  readonly maxBytes: number;
  readonly maxMs: number;
}

const LIMITS: DrainLimits = { maxBytes: 64 * 1024 * 1024, maxMs: 5_000 };

/**
 * Reads and drops what is left of an upload. Most clients write the whole body before they read, and
 * a socket closed under them resets before they see the answer. Past a limit the socket is destroyed:
 * an upload without end must not hold the connection.
 *
 * Returns at once; never throws; leaves no listener once the upload or the connection is over.
 */
export function drain(req: IncomingMessage, limits: DrainLimits = LIMITS): void {
  const { socket } = req;
  if (socket.destroyed || req.readableEnded) return;
  let left = limits.maxBytes;
  const cut = () => socket.destroy();
  const timer = setTimeout(cut, limits.maxMs);
  timer.unref();
  const onData = (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) cut();
  };
  // A client that leaves now is no news: the refusal is already under way.
  const onError = () => undefined;
  const onOver = () => {
    clearTimeout(timer);
    req.off('data', onData).off('error', onError).off('end', onOver);
    socket.off('close', onOver);
  };
  req.on('data', onData).on('error', onError).on('end', onOver);
  // A request whose answer is out gets no `close` of its own any more when the client leaves.
  socket.on('close', onOver);
  req.resume();
}
