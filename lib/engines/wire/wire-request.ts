/** A call as the text that goes over the wire. */
import { bodyLength, type EngineCall } from '../transport';
import type { WireRequest } from './connection';

/** RFC 9110, sections 5.5 and 5.6.2: what a field's name, and its value, may hold. */
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
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

/**
 * @throws {TypeError} for a path or a header field that could not be sent as it is. The message names the field,
 *   not its value.
 */
export function wireRequest({ engine, method, path, headers, body }: EngineCall): WireRequest {
  const target = engine.prefix + path;
  if (!PATH.test(target)) throw new TypeError('the path of the call cannot be sent');
  let fields = '';
  for (const name in headers) {
    if (OWN.has(name)) continue;
    const value = headers[name]!;
    if (!NAME.test(name) || !VALUE.test(value))
      throw new TypeError(`the header field ${name} cannot be sent`);
    fields += `${name}: ${value}\r\n`;
  }
  if (body !== null) fields += `content-length: ${bodyLength(body)}\r\n`;
  else if (method !== 'GET') fields += 'content-length: 0\r\n';
  return { line: `${method} ${target} HTTP/1.1\r\n`, fields, body };
}
