/** A call as the text that goes over the wire. */
import { bodyLength, type EngineCall } from '../transport';
import type { WireRequest } from './connection';

/** RFC 9110, section 5.6.2: what a field's name may hold. */
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** A blank or a line end would begin another part of the request; an interceptor may have made the path. */
const PATH = /^\/[\x21-\x7e\x80-\xff]*$/;
/** Fields that are this module's own: a caller's could change where a message ends. */
const OWN: ReadonlySet<string> = new Set([
  'host',
  'connection',
  'content-length',
  'transfer-encoding',
  'expect',
]);

/** The last path and names that were good: calls have the same ones, and only their values are new. */
let goodPath = '';
const goodNames: string[] = [];
const MAX_NAMES = 16;

/**
 * @throws {TypeError} for a path or a header field that could not be sent as it is. The message names the field,
 *   not its value.
 */
export function wireRequest({ engine, method, path, headers, body }: EngineCall): WireRequest {
  const target = engine.prefix + path;
  if (target !== goodPath) {
    if (!PATH.test(target)) throw new TypeError('the path of the call cannot be sent');
    goodPath = target;
  }
  let fields = '';
  for (const name in headers) {
    if (OWN.has(name)) continue;
    const value = headers[name]!;
    if (!isFieldName(name) || !isFieldValue(value))
      throw new TypeError(`the header field ${name} cannot be sent`);
    fields += `${name}: ${value}\r\n`;
  }
  if (body !== null) fields += `content-length: ${bodyLength(body)}\r\n`;
  else if (method !== 'GET') fields += 'content-length: 0\r\n';
  return { line: `${method} ${target} HTTP/1.1\r\n`, fields, body };
}

function isFieldName(name: string): boolean {
  if (goodNames.includes(name)) return true;
  if (!NAME.test(name)) return false;
  if (goodNames.length < MAX_NAMES) goodNames.push(name);
  return true;
}

const TAB = 0x09;
const DELETE = 0x7f;

/** RFC 9110, section 5.5. A loop: the short values of a call cost a regular expression 1 us. */
function isFieldValue(value: unknown): boolean {
  if (typeof value !== 'string') return false;
  for (let at = 0; at < value.length; at++) {
    const code = value.charCodeAt(at);
    if ((code < 0x20 && code !== TAB) || code === DELETE || code > 0xff) return false;
  }
  return true;
}
