// Open-loop load: arrivals as of a Poisson process, whatever the gateway answers.
import { Agent, request } from 'node:http';

/** A small seeded generator (mulberry32), so that both modes get the same arrivals. */
export function randomOf(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/**
 * @param {string} url
 * @param {{ perS: number, seconds: number, minTokens: number, maxTokens: number, random: () => number }} load
 * @returns for each arrival: length, status, and seconds to the first byte of the answer's body (null without one)
 */
export async function openLoop(url, { perS, seconds, minTokens, maxTokens, random }) {
  const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
  const results = [];
  const pending = new Set();
  const end = performance.now() + seconds * 1000;
  let next = performance.now();
  while (next < end) {
    const wait = next - performance.now();
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
    const tokens = Math.round(minTokens + random() * (maxTokens - minTokens));
    const call = ask(agent, url, tokens);
    pending.add(call);
    call.done.then((result) => {
      results.push(result);
      pending.delete(call);
    });
    next += (-Math.log(1 - random()) / perS) * 1000;
  }
  // What has not begun by now is too late by far.
  await new Promise((resolve) => setTimeout(resolve, 1500));
  for (const call of pending) call.cut();
  await Promise.all([...pending].map(({ done }) => done));
  agent.destroy();
  return results;
}

function ask(agent, url, tokens) {
  const body = JSON.stringify({ prompt: new Array(tokens).fill(7), max_tokens: 4, stream: true });
  const sentAt = performance.now();
  let req;
  const done = new Promise((resolve) => {
    req = request(`${url}/v1/completions`, { method: 'POST', agent }, (res) => {
      let firstByteS = null;
      res.on('data', () => {
        firstByteS ??= (performance.now() - sentAt) / 1000;
      });
      res.on('close', () => resolve({ status: res.statusCode, firstByteS, tokens }));
    });
    req.on('error', () => resolve({ status: 0, firstByteS: null, tokens }));
    req.end(body);
  });
  return { done, cut: () => req.destroy() };
}
