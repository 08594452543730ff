/** HTTP calls on a bare connection: nothing is added, retried or followed. */
import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';

/** What is sent. */
export interface Sent {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  /** An object is sent as JSON text; a list of buffers in chunks, without a content length. */
  readonly body?: string | Buffer | readonly Buffer[] | object;
  readonly signal?: AbortSignal;
  /** Told of each piece of the answer. */
  readonly onPiece?: (piece: Buffer) => void;
}

/** What came back. */
export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** The envelope of section 4 of the contract, as a client reads it. */
export interface Envelope {
  readonly message: string;
  readonly type: string;
  readonly param: string | null;
  readonly code: string | number | null;
}

/** The two completion routes. */
export const CHAT = '/v1/chat/completions';
export const COMPLETIONS = '/v1/completions';

/** Bodies that are right, for either route. */
export const CHAT_BODY = { model: 'example/model', messages: [{ role: 'user', content: 'Say hello' }] };
export const COMPLETION_BODY = { model: 'example/model', prompt: 'Say hello' };

/** @returns a body that is right for the route, with `members` put over it. */
export function bodyFor(path: string, members: object = {}): Record<string, unknown> {
  return { ...(path.includes('/chat/') ? CHAT_BODY : COMPLETION_BODY), ...members };
}

/**
 * One call: POST with a JSON content type, unless told otherwise.
 *
 * @throws what the connection broke with, if it did.
 */
export function call(url: string, sent: Sent = {}): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const { method = 'POST', body, signal, onPiece } = sent;
    const headers = { 'content-type': 'application/json', ...sent.headers };
    const req = request(url, { method, headers, agent: false, ...(signal && { signal }) }, (res) => {
      read(res, onPiece).then((text) => {
        resolve({ status: res.statusCode ?? 0, headers: res.headers, text });
      }, reject);
    });
    req.on('error', reject);
    if (Array.isArray(body)) {
      req.flushHeaders();
      for (const chunk of body as readonly Buffer[]) req.write(chunk);
      req.end();
    } else if (body === undefined || typeof body === 'string' || Buffer.isBuffer(body)) req.end(body);
    else req.end(JSON.stringify(body));
  });
}

function read(res: IncomingMessage, onPiece: Sent['onPiece']): Promise<string> {
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    res.on('data', (piece: Buffer) => {
      pieces.push(piece);
      onPiece?.(piece);
    });
    res.on('error', reject);
    res.on('end', () => resolve(Buffer.concat(pieces).toString('utf8')));
  });
}

/** The parsed JSON of an answer. */
export function jsonOf({ text }: Pick<Reply, 'text'>): Record<string, unknown> {
  return JSON.parse(text) as Record<string, unknown>;
}

/** The envelope of a refusal; fails where the answer has not exactly that form. */
export function envelopeOf(reply: Reply): Envelope {
  expect(reply.headers['content-type']).toBe('application/json');
  expect(reply.headers['x-request-id']).toMatch(/^[\w-]{10,}$/);
  expect(reply.headers['x-narwhal-reason']).toMatch(/^[a-z_]+$/);
  const body = jsonOf(reply);
  expect(Object.keys(body)).toEqual(['error']);
  const error = body['error'] as Envelope;
  expect(Object.keys(error).sort()).toEqual(['code', 'message', 'param', 'type']);
  return error;
}
