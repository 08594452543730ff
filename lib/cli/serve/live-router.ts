/** A router that can be replaced while it serves: what runs on the old one ends there. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { NarwhalHandler, NarwhalRouter } from '../../index';

/** How often a replaced router is asked whether it still has work. */
const LOOK_MS = 250;

/** Passes each request to the present router. */
export class LiveRouter {
  readonly #build: () => NarwhalRouter;
  readonly #retired = new Map<NarwhalRouter, NodeJS.Timeout>();
  readonly #onError: (error: unknown) => void;
  /** Who watches the fleet page. */
  readonly #watching = new Set<ServerResponse>();
  #current: NarwhalRouter;
  #closing: Promise<void> | null = null;

  /**
   * @param build makes a router of what the files say now.
   * @param onError told when a replaced router does not close in order.
   * @throws what `build` throws.
   */
  constructor(build: () => NarwhalRouter, onError: (error: unknown) => void) {
    this.#build = build;
    this.#onError = onError;
    this.#current = build();
  }

  readonly handler: NarwhalHandler = (req, res, next) => {
    if (isWatching(req)) {
      this.#watching.add(res);
      res.once('close', () => this.#watching.delete(res));
    }
    this.#current(req, res, next);
  };

  state(): ReturnType<NarwhalRouter['state']> {
    return this.#current.state();
  }

  /**
   * Puts a new router in place. The old one takes no new request, and closes when its last one is over:
   * its own deadlines see to that.
   *
   * @throws what `build` throws; then the old one stays.
   */
  replace(): void {
    if (this.#closing !== null) return;
    const old = this.#current;
    this.#current = this.#build();
    const timer = setInterval(() => this.#lookAt(old), LOOK_MS);
    this.#retired.set(old, timer);
    // A page asks again at once, and finds the new router.
    for (const res of this.#watching) res.end();
  }

  /** Closes every router, running requests first; a second call returns the same promise. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  #lookAt(old: NarwhalRouter): void {
    if (old.state().in_flight > 0) return;
    clearInterval(this.#retired.get(old));
    this.#retired.delete(old);
    old.close().catch(this.#onError);
  }

  async #close(): Promise<void> {
    for (const timer of this.#retired.values()) clearInterval(timer);
    await Promise.all([this.#current, ...this.#retired.keys()].map((router) => router.close()));
  }
}

function isWatching({ method, url }: IncomingMessage): boolean {
  return method === 'GET' && url === '/narwhal/events';
}
