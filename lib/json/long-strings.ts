/**
 * Where the long strings of a JSON text are, found without making them: a prompt of 100 KB is looked at once,
 * where it stands, at a third of what `JSON.parse` and a scanner in JavaScript take for it
 * (`npm run bench -- prompts`). The loop is WebAssembly, because 16 bytes at a time cannot be had in JavaScript.
 */
import { lengthOf } from './chunks';
import { LONG_STRINGS_WASM } from './long-strings-wasm';
import type { Span } from './members';

/** The shortest string that is found, in bytes with its quotes. */
export const LONG_STRING_BYTES = 256;

// The layout of the memory, as long-strings.wat has it.
const WINDOW_BYTES = 0x10010;
const PADDING_BYTES = 16;
const FOUND_AT = 0x10400;

/** As much of it as is used: neither Node's types nor those of the language have it without those of a browser. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: object };
};

interface Exports {
  readonly memory: { readonly buffer: ArrayBuffer };
  readonly inside: { value: number };
  readonly found: { value: number };
  scan(base: number, size: number, last: number, long: number): number;
}

interface Scanner {
  readonly wasm: Exports;
  readonly window: Uint8Array;
  readonly pairs: Uint32Array;
}

/** Null before the first use, false where this Node.js cannot run it (`--jitless`). */
let shared: Scanner | false | null = null;

/**
 * Finds the strings of at least `LONG_STRING_BYTES` and checks all: their escapes, that no control character
 * and no half of a surrogate pair is in them. What stands between strings is not looked at.
 *
 * @param chunks UTF-8.
 * @returns the literals with their quotes, keys among them; null where a string is bad or has no end, and
 *   where WebAssembly is not to be had.
 */
export function longStrings(chunks: readonly Buffer[]): Span[] | null {
  shared ??= load();
  if (shared === false) return null;
  const { wasm, window } = shared;
  wasm.inside.value = 0;
  wasm.found.value = 0;
  const spans: Span[] = [];
  const total = lengthOf(chunks);
  /** Where the window begins in the text, and how much of it is there from the window before. */
  let base = 0;
  let kept = 0;
  for (const chunk of chunks) {
    for (let from = 0; from < chunk.length; ) {
      const to = Math.min(chunk.length, from + WINDOW_BYTES - kept);
      window.set(from === 0 && to === chunk.length ? chunk : chunk.subarray(from, to), kept);
      const size = kept + to - from;
      from = to;
      const last = base + size === total;
      if (last) window.fill(0, size, size + PADDING_BYTES);
      const done = wasm.scan(base, size, Number(last), LONG_STRING_BYTES);
      if (done === -1) return null;
      take(shared, spans);
      kept = size - done;
      if (kept > 0) window.copyWithin(0, done, size);
      base += done;
    }
  }
  return wasm.inside.value === 0 ? spans : null;
}

/** Moves what one window had into the list. */
function take({ wasm, pairs }: Scanner, spans: Span[]): void {
  const count = wasm.found.value;
  for (let at = 0; at < 2 * count; at += 2) spans.push({ start: pairs[at]!, end: pairs[at + 1]! });
  wasm.found.value = 0;
}

function load(): Scanner | false {
  try {
    const module = new WebAssembly.Module(Buffer.from(LONG_STRINGS_WASM, 'base64'));
    const wasm = new WebAssembly.Instance(module).exports as Exports;
    const { buffer } = wasm.memory;
    return { wasm, window: new Uint8Array(buffer), pairs: new Uint32Array(buffer, FOUND_AT) };
  } catch {
    return false;
  }
}
