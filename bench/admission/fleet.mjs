// Stub engines that serve prefill one after another, at a fixed rate: what a fleet can do is known exactly.
import { startStubFleet } from 'express-narwhal/testing';

/** @param {{ prefill: number, tokensPerS: number, overheadMs: number }} shape */
export async function fixedRateFleet({ prefill, tokensPerS, overheadMs }) {
  const freeAt = new Map();
  const script = (call) => {
    if (call.leg !== 'prefill') return undefined;
    const now = performance.now();
    const start = Math.max(now, freeAt.get(call.engine) ?? 0);
    const end = start + overheadMs + (call.json.prompt.length * 1000) / tokensPerS;
    freeAt.set(call.engine, end);
    return { leg: 'prefill', delayMs: end - now };
  };
  return startStubFleet({ prefill, decode: 2, script });
}

/** Engine seconds that the prefill of one prompt takes. */
export function workS({ tokensPerS, overheadMs }, tokens) {
  return overheadMs / 1000 + tokens / tokensPerS;
}
