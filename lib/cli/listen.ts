/** Finds a free port. */

import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** How many ports are tried. */
const TRIES = 20;

/**
 * Listens on a port, or on the next free one.
 *
 * @param port first port to try; 0 takes any.
 * @returns the port that was taken.
 * @throws where none of 20 is free, or for a port that cannot be had for another reason.
 */
export async function listenFrom(server: Server, port: number): Promise<number> {
  if (!Number.isInteger(port) || port < 0 || port > 65535) {
    throw new Error('PORT must be a whole number from 0 to 65535');
  }
  for (let offset = 0; ; offset++) {
    try {
      return await listen(server, port === 0 ? 0 : port + offset);
    } catch (error) {
      const taken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE';
      if (!taken || offset + 1 >= TRIES || port + offset >= 65535) throw error;
    }
  }
}

function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, () => {
      server.off('error', reject);
      resolve((server.address() as AddressInfo).port);
    });
  });
}
