import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { performance } from 'node:perf_hooks';
import { effectiveLimit, type GenerationRequest } from './generation-request';
import { isJsonObject, type JsonObject, rawMembers } from './raw-json';

/** What an engine of the fleet is for. */
export type StubRole = 'prefill' | 'decode' | 'both';

/** What kind of call reached an engine. A one-token probe (see `isProbe`) is `single` on every role. */
export type StubLeg = 'prefill' | 'decode' | 'single' | 'health' | 'models' | 'tokenize' | 'other';

/** One HTTP call that reached a stub engine. It appears in `calls` once its body has been read. */
export interface StubCall {
  /** `iid` of the engine. */
  readonly engine: string;
  /** What the engine is for. */
  readonly role: StubRole;
  /** What kind of call it was taken for. */
  readonly leg: StubLeg;
  /** HTTP method. */
  readonly method: string;
  /** The request target without the engine's prefix and without the query string. */
  readonly path: string;
  /** Query string with its `?`, or ''. */
  readonly query: string;
  /** Header names in lower case. */
  readonly headers: IncomingHttpHeaders;
  /** Names and values in turns, as they were sent. */
  readonly rawHeaders: readonly string[];
  /** Value of `x-request-id`, '' when there was none. */
  readonly requestId: string;
  /** The body's bytes. */
  body: Buffer;
  /** The parsed body; undefined when it is not JSON. */
  json: JsonObject | undefined;
  /** When the head arrived, `performance.now()` in ms. */
  readonly at: number;
  /** Status answered, or null while (or if never) answered. */
  status: number | null;
  /** The peer closed the connection before our answer ended. */
  closedEarly: boolean;
  /** When the call was over, `performance.now()` in ms; null while it runs. */
  closedAt: number | null;
  /** SSE frames (or whole JSON bodies) handed to the socket, `[DONE]` included. */
  framesSent: number;
  /** Body bytes handed to the socket. */
  bytesWritten: number;
  /** The socket was full at least once: the peer read slower than we wrote. */
  paused: boolean;
  /** The answer was written to its end. */
  responseEnded: boolean;
  /** Text of the handoff that this (prefill) call produced. */
  handoff: string | null;
}

/** The route of a completion path, or undefined for any other path. */
export function routeOf(path: string): GenerationRequest['route'] | undefined {
  if (path === '/v1/chat/completions') return 'chat';
  return path === '/v1/completions' ? 'completions' : undefined;
}

/**
 * A one-token probe of an engine: the word `probe` in the request id, a limit of one token and no handoff. It
 * may go to any engine, whatever its role.
 */
export function isProbe(call: StubCall): boolean {
  const route = routeOf(call.path);
  if (route === undefined || !call.requestId.includes('probe') || call.json === undefined) return false;
  return effectiveLimit(route, call.json) === 1 && !isJsonObject(call.json['kv_transfer_params']);
}

/** A decode leg that only lets the producer go: one token, and a request id that ends in `-reclaim` (or `-reclaim-<n>`). */
export function isReclaim(call: StubCall): boolean {
  const route = routeOf(call.path);
  if (route === undefined || call.json === undefined) return false;
  return /-reclaim(-\d+)?$/.test(call.requestId) && effectiveLimit(route, call.json) === 1;
}

function legOf(method: string, path: string, role: StubRole): StubLeg {
  if (method === 'GET' && (path === '/health' || path === '/ping')) return 'health';
  if (method === 'GET' && path === '/v1/models') return 'models';
  if (method === 'POST' && path === '/tokenize') return 'tokenize';
  if (method !== 'POST' || routeOf(path) === undefined) return 'other';
  return role === 'both' ? 'single' : role;
}

/** The record of a call as its head arrives. */
export function openCall(req: IncomingMessage, engine: string, role: StubRole, prefix: string): StubCall {
  const target = req.url ?? '/';
  const mark = target.indexOf('?');
  const full = mark < 0 ? target : target.slice(0, mark);
  // A path outside the prefix is kept whole and so finds no route.
  const path = prefix !== '' && full.startsWith(`${prefix}/`) ? full.slice(prefix.length) : full;
  const known = prefix === '' || full.startsWith(`${prefix}/`);
  const method = req.method ?? 'GET';
  const id = req.headers['x-request-id'];
  return {
    engine,
    role,
    leg: known ? legOf(method, path, role) : 'other',
    method,
    path,
    query: mark < 0 ? '' : target.slice(mark),
    headers: req.headers,
    rawHeaders: req.rawHeaders,
    requestId: typeof id === 'string' ? id : '',
    body: Buffer.alloc(0),
    json: undefined,
    at: performance.now(),
    status: null,
    closedEarly: false,
    closedAt: null,
    framesSent: 0,
    bytesWritten: 0,
    paused: false,
    responseEnded: false,
    handoff: null,
  };
}

/** Puts the body into the record; the leg becomes `single` when it is a probe. */
export function fillBody(call: StubCall, body: Buffer): StubCall {
  call.body = body;
  try {
    // Python's parser refuses bytes that are not UTF-8; Buffer would quietly replace them.
    const parsed: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
    call.json = isJsonObject(parsed) ? parsed : undefined;
  } catch {
    call.json = undefined;
  }
  return isProbe(call) ? Object.assign(call, { leg: 'single' as const }) : call;
}

/** Texts of the body's top-level members; empty when the body is no JSON object. */
export function bodyMembers(call: StubCall): Map<string, string> {
  return call.json === undefined ? new Map() : rawMembers(call.body.toString('utf8'));
}
