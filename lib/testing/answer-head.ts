import type { StubScript } from './stub-script';

/** Headers that a script adds to any answer. */
export function scriptedHeaders(script: StubScript): Record<string, string | string[]> {
  return {
    ...(script.retryAfter !== undefined && { 'retry-after': String(script.retryAfter) }),
    ...(script.redirect !== undefined && { location: script.redirect }),
    ...(script.closeAfterAnswer === true && { connection: 'close' }),
    ...Object.fromEntries(
      Object.entries(script.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
    ),
  };
}

/** Head of a stream, as vLLM's StreamingResponse has it. */
export function streamHead(script: StubScript): Record<string, string | string[]> {
  return { 'content-type': 'text/event-stream; charset=utf-8', ...scriptedHeaders(script) };
}

/** Head of a JSON answer; without a length it is sent in chunks. */
export function jsonHead(script: StubScript, length: number | null): Record<string, string | string[]> {
  return {
    'content-type': 'application/json',
    ...(length !== null && { 'content-length': String(length) }),
    ...scriptedHeaders(script),
  };
}
