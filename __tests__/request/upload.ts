/** Real uploads to a real server whose handler calls `readBody`. */
import { once } from 'node:events';
import http, { type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import net, { type AddressInfo } from 'node:net';
import type { Readable } from 'node:stream';
import { isNarwhalError } from '../../lib/errors';
import { type BodyRequest, readBody } from '../../lib/request/read-body';

/** What came of one call of `readBody`. */
export interface Outcome {
  readonly error: unknown;
  readonly req: BodyRequest;
  /** Listeners that are there now and were not before the call, by event. */
  readonly left: () => string[];
}

const EVENTS = ['data', 'readable', 'end', 'error', 'close', 'aborted', 'pause', 'resume'];

function listeners(req: IncomingMessage): Map<string, number> {
  const counts = new Map<string, number>();
  for (const event of EVENTS) {
    // Node itself adds this one to a request whose answer is out before its end.
    const own = req.listeners(event).filter(({ name }) => name !== 'clearIncoming');
    counts.set(`req ${event}`, own.length);
    counts.set(`socket ${event}`, req.socket.listenerCount(event));
  }
  return counts;
}

/** Calls `readBody`, answers with the body's own text or the refusal, and tells what came of it. */
export async function answer(req: BodyRequest, res: ServerResponse, maxBytes: number): Promise<Outcome> {
  const before = listeners(req);
  const left = () => [...listeners(req)].filter(([at, count]) => count > before.get(at)!).map(([at]) => at);
  try {
    const { bytes } = await readBody(req, { maxBytes });
    res.end(bytes);
    return { error: null, req, left };
  } catch (error) {
    if (isNarwhalError(error)) {
      res.writeHead(error.status, { 'content-type': 'application/json' }).end(JSON.stringify(error));
    }
    return { error, req, left };
  }
}

export interface TestServer {
  readonly port: number;
  close(): Promise<void>;
}

export async function listen(handler: RequestListener): Promise<TestServer> {
  const server = http.createServer(handler);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export interface Answer {
  readonly status: number;
  readonly text: string;
  readonly reused: boolean;
}

export interface Upload {
  readonly port: number;
  readonly headers?: http.OutgoingHttpHeaders;
  /** One piece goes with its length, several go chunked. */
  readonly body: string | Buffer | readonly (string | Buffer)[];
  readonly agent?: http.Agent;
}

/** Sends one request and reads the answer to its end. */
export async function post({ port, headers = {}, body, agent }: Upload): Promise<Answer> {
  const req = http.request({ port, host: '127.0.0.1', method: 'POST', headers, agent: agent ?? false });
  const response = once(req, 'response') as Promise<[IncomingMessage]>;
  if (typeof body === 'string' || Buffer.isBuffer(body)) {
    req.setHeader('content-length', Buffer.byteLength(body));
    req.end(body);
  } else {
    for (const piece of body) {
      req.write(piece);
      // A turn of the loop between the pieces lets each leave in a packet of its own.
      await new Promise((resolve) => setImmediate(resolve));
    }
    req.end();
  }
  const [res] = await response;
  let text = '';
  for await (const chunk of res.setEncoding('utf8')) text += chunk;
  return { status: res.statusCode!, text, reused: req.reusedSocket };
}

/** A raw connection, for clients that do what `node:http` would not. */
export async function connect(port: number): Promise<net.Socket> {
  const socket = net.connect(port, '127.0.0.1');
  await once(socket, 'connect');
  socket.on('error', () => undefined);
  return socket;
}

/** Waits as a bystander would: `once` would listen for errors, too, and so change what happens. */
export async function closed(stream: Readable): Promise<void> {
  if (!stream.closed) await new Promise((resolve) => stream.once('close', resolve));
}

/** A body of exactly this many bytes. */
export function bodyOf(size: number): string {
  return `{"prompt":"${'x'.repeat(size - 13)}"}`;
}

/** What a refusal says. */
export function message(text: string): string {
  return (JSON.parse(text) as { error: { message: string } }).error.message;
}

/** A fresh server for each test of the file, and what came of its requests. */
class Uploads {
  /** One entry per request, in order of arrival. */
  readonly outcomes: Promise<Outcome>[] = [];
  /** What the host does before us. */
  before: (req: IncomingMessage) => unknown = () => undefined;
  port = 0;
  private arrived: () => void = () => undefined;
  private server: TestServer | null = null;

  constructor(public maxBytes: number) {}

  async start(): Promise<void> {
    this.server = await listen((req, res) => {
      this.outcomes.push(this.serve(req, res));
      this.arrived();
    });
    this.port = this.server.port;
  }

  async stop(): Promise<void> {
    await this.server?.close();
  }

  /** What came of one request, which may still have to arrive. */
  async outcome(at = 0): Promise<Outcome> {
    while (this.outcomes.length <= at) {
      await new Promise<void>((resolve) => {
        this.arrived = resolve;
      });
    }
    return this.outcomes[at]!;
  }

  private async serve(req: IncomingMessage, res: ServerResponse): Promise<Outcome> {
    await this.before(req);
    return answer(req, res, this.maxBytes);
  }
}

export function useUploads(maxBytes: number): Uploads {
  const uploads = new Uploads(maxBytes);
  beforeEach(async () => {
    uploads.outcomes.length = 0;
    uploads.before = () => undefined;
    uploads.maxBytes = maxBytes;
    await uploads.start();
  });
  afterEach(() => uploads.stop());
  return uploads;
}
