import { type Agent, type IncomingHttpHeaders, request } from 'node:http';
import type { StubEngine } from '../../lib/testing/index';

/** What came back for one call; `error` is the code of a connection that broke. */
export interface Reply {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  /** Bytes as they arrived. */
  pieces: Buffer[];
  error: string | undefined;
}

interface Sent {
  method?: string;
  headers?: Record<string, string>;
  body?: string | Buffer;
  agent?: Agent;
  signal?: AbortSignal;
  onPiece?: (piece: Buffer) => void;
}

/** One HTTP call; it resolves also when the connection breaks. */
export function send(url: string, sent: Sent = {}): Promise<Reply> {
  return new Promise((resolve) => {
    const reply: Reply = { status: 0, headers: {}, text: '', pieces: [], error: undefined };
    const over = (error?: NodeJS.ErrnoException): void => {
      reply.error ??= error?.code;
      reply.text = Buffer.concat(reply.pieces).toString('utf8');
      resolve(reply);
    };
    const agent = sent.agent ?? false;
    const { method = 'POST', headers = {}, signal } = sent;
    const req = request(url, { method, headers, agent, ...(signal && { signal }) }, (res) => {
      reply.status = res.statusCode ?? 0;
      reply.headers = res.headers;
      res.on('data', (piece: Buffer) => {
        reply.pieces.push(piece);
        sent.onPiece?.(piece);
      });
      res.on('error', over);
      res.on('end', () => over());
    });
    req.on('error', over);
    req.end(sent.body);
  });
}

let ids = 0;

/** A request id that was not used before. */
export function nextId(suffix = ''): string {
  ids += 1;
  return `r${ids}${suffix}`;
}

/** A completion call with a JSON body, a fresh request id and nothing else. */
export function post(engine: StubEngine, path: string, body: unknown, more: Sent = {}): Promise<Reply> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const headers = { 'content-type': 'application/json', 'x-request-id': nextId(), ...more.headers };
  return send(engine.url + path, { ...more, headers, body: text });
}

export const CHAT = '/v1/chat/completions';
export const COMPLETIONS = '/v1/completions';

/** What a prefill leg adds to a body. */
export const PREFILL = {
  max_tokens: 1,
  stream: false,
  ignore_eos: true,
  kv_transfer_params: { do_remote_decode: true },
};

/** The body text of a decode leg: the client's members, streaming, and the handoff's own text. */
export function decodeBody(body: object, handoff: string | null | undefined): string {
  const text = JSON.stringify({ stream: true, ...body });
  return `${text.slice(0, -1)},"kv_transfer_params":${handoff ?? 'null'}}`;
}

/** Payloads of an SSE body, parsed strictly: every event one `data: ` line and a blank line. */
export function parseSse(text: string): string[] {
  if (text === '') return [];
  if (!text.endsWith('\n\n')) throw new Error(`an event without its end: ${text.slice(-80)}`);
  return text
    .slice(0, -2)
    .split('\n\n')
    .map((event) => {
      if (!/^data: [^\n]+$/.test(event)) throw new Error(`not one data line: ${event}`);
      return event.slice('data: '.length);
    });
}

export const MESSAGES = [{ role: 'user', content: 'Say nonce-abc7 please' }];
