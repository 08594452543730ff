/** Watches the events of a fleet page on a bare connection. */
import { type IncomingMessage, request } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import type { PageFrame } from '../../../lib/inspection/page/frame';
import { closeLater } from '../../helpers/close-all';

/** An open stream of events. */
export interface Watcher {
  readonly res: IncomingMessage;
  /** The first frame from now on that is as wanted; the last one counts, if it is. */
  until(wanted: (frame: PageFrame) => boolean): Promise<PageFrame>;
  /** Resolves when the gateway has ended the stream in order. */
  readonly ended: Promise<void>;
  leave(): void;
}

/** Opens the events below a URL; the connection is closed after the test. */
export function watch(url: string, headers: Record<string, string> = {}): Promise<Watcher> {
  return new Promise((resolve, reject) => {
    const req = request(`${url}/narwhal/events`, { agent: false, headers }, (res) => {
      closeLater({ close: () => req.destroy() });
      if (res.statusCode === 200) resolve(read(res));
      else reject(new Error(`status ${res.statusCode}`));
    });
    req.once('error', reject);
    req.end();
  });
}

/** As `watch`, once there is room: the gateway learns a little later than the test that another has left. */
export async function watchWhenFree(url: string): Promise<Watcher> {
  for (;;) {
    try {
      return await watch(url);
    } catch (error) {
      if ((error as Error).message !== 'status 503') throw error;
      await setTimeout(10);
    }
  }
}

function read(res: IncomingMessage): Watcher {
  let rest = '';
  let last: PageFrame | null = null;
  const looks = new Set<(frame: PageFrame) => void>();
  res.setEncoding('utf8');
  res.on('data', (piece: string) => {
    const events = (rest + piece).split('\n\n');
    rest = events.pop() ?? '';
    for (const event of events) {
      last = JSON.parse(event.replace(/^data: /, '')) as PageFrame;
      for (const look of looks) look(last);
    }
  });
  // A cut connection is an end as well; `complete` tells them apart.
  res.on('error', () => undefined);
  return {
    res,
    until: (wanted) =>
      new Promise((found) => {
        const look = (frame: PageFrame): void => {
          if (!wanted(frame)) return;
          looks.delete(look);
          found(frame);
        };
        looks.add(look);
        if (last !== null) look(last);
      }),
    ended: new Promise((resolve) => res.once('end', resolve)),
    leave: () => void res.destroy(),
  };
}
