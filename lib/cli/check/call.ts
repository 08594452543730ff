/** One question to an engine, over the same pools as the router's own calls. */
import type { EngineConfig, FleetConfig } from '../../config/fleet-config';
import { EnginePools } from '../../engines/pools';
import type { TransportFailure } from '../../engines/transport';

/** What came back. */
export interface Reply {
  /** 0 where no answer came. */
  readonly status: number;
  readonly body: Buffer;
  /** Why no answer came; null where one did. */
  readonly failure: TransportFailure | 'timeout' | null;
  /** The system's own words for it. */
  readonly detail: string;
  readonly ms: number;
}

/** What is asked. */
export interface Question {
  readonly path: string;
  /** JSON text; null for a GET. */
  readonly body: string | null;
  /** Value of `x-request-id`; null for none. */
  readonly id: string | null;
}

/** More of an answer than this is not read. */
const MAX_BYTES = 4 * 1024 * 1024;

/** Asks engines. */
export class EngineCaller {
  readonly #pools: EnginePools;
  readonly #apiKey: string | null;
  readonly #timeoutMs: number;

  /** @param timeoutS seconds for one whole call. */
  constructor({ engine }: FleetConfig, timeoutS: number) {
    const limits = { keepaliveS: engine.keepaliveS, maxSocketAgeS: 60, sockets: null };
    this.#pools = new EnginePools({ ...limits, connectTimeoutS: timeoutS });
    this.#apiKey = engine.apiKey;
    this.#timeoutMs = timeoutS * 1000;
  }

  /** Never rejects. */
  ask(engine: EngineConfig, { path, body, id }: Question): Promise<Reply> {
    const begun = performance.now();
    return new Promise((resolve) => {
      const parts: Buffer[] = [];
      let bytes = 0;
      let status = 0;
      const end = (failure: Reply['failure'], detail: string): void => {
        clearTimeout(timer);
        const ms = performance.now() - begun;
        const answered = failure === null;
        resolve({ status: answered ? status : 0, body: Buffer.concat(parts), failure, detail, ms });
      };
      const timer = setTimeout(() => {
        control.cut();
        end('timeout', `no answer within ${this.#timeoutMs / 1000} s`);
      }, this.#timeoutMs);
      const control = this.#pools.send(
        {
          engine,
          method: body === null ? 'GET' : 'POST',
          path,
          headers: this.#headers(body !== null, id),
          body: body === null ? null : Buffer.from(body),
        },
        {
          sent: () => undefined,
          head: (answered) => {
            status = answered;
          },
          data: (chunk) => {
            bytes += chunk.length;
            if (bytes <= MAX_BYTES) parts.push(chunk);
          },
          end: () => end(null, ''),
          fail: (error) => end(error.failure, error.message),
        },
      );
    });
  }

  close(): Promise<void> {
    return this.#pools.close();
  }

  #headers(hasBody: boolean, id: string | null): Record<string, string> {
    return {
      ...(hasBody && { 'content-type': 'application/json' }),
      ...(id !== null && { 'x-request-id': id }),
      ...(this.#apiKey !== null && { authorization: `Bearer ${this.#apiKey}` }),
    };
  }
}
