// One client of the storm: a request with a nonce, which may leave at random.
import http from 'node:http';

/**
 * Makes the plan of one request from the storm's generator.
 * @param {ReturnType<import('./random.mjs').seeded>} random
 */
export function plan(random, number) {
  const nonce = `nonce-${number.toString(36)}x${random.below(1e9).toString(36)}`;
  const chat = random.chance(0.7);
  const stream = random.chance(0.6);
  const padding = 'lorem '.repeat(random.chance(0.1) ? random.below(4000) : random.below(40));
  const text = `${nonce} ${padding}`;
  const list = !chat && random.chance(0.1);
  const body = chat
    ? { messages: [{ role: 'user', content: text }], stream, max_tokens: 1 + random.below(24) }
    : { prompt: list ? [text, `${nonce} again`] : text, stream, max_tokens: 1 + random.below(24) };
  if (stream && random.chance(0.3)) body.stream_options = { include_usage: true };
  const leaves = random.chance(0.15) ? random.below(120) : -1;
  return { nonce, chat, stream, body, leavesAfterMs: leaves };
}

/**
 * Sends a planned request. Resolves with what the client saw; never rejects.
 * @param {http.Agent} agent
 */
export function send(port, agent, { nonce, chat, stream, body, leavesAfterMs }) {
  const text = JSON.stringify(body);
  const path = chat ? '/v1/chat/completions' : '/v1/completions';
  return new Promise((resolve) => {
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
    const request = http.request({ port, host: '127.0.0.1', agent, method: 'POST', path, headers });
    let timer;
    const end = (seen) => {
      clearTimeout(timer);
      resolve(seen);
    };
    if (leavesAfterMs >= 0) {
      timer = setTimeout(() => {
        end({ kind: 'left' });
        request.destroy();
      }, leavesAfterMs);
    }
    request.on('error', (error) => end({ kind: 'broken', detail: error.code ?? error.message }));
    request.on('response', (response) => {
      let answer = '';
      response.setEncoding('utf8').on('data', (piece) => {
        answer += piece;
      });
      response.on('close', () => {
        if (!response.complete) return end({ kind: 'broken', detail: 'cut' });
        end(judge(response.statusCode, answer, { nonce, stream, body }));
      });
    });
    request.end(text);
  });
}

/** What a client saw. The answer is its own when it has the nonce of the prompt, once for each part, and no other. */
function judge(status, answer, { nonce, stream, body }) {
  if (status !== 200) return { kind: 'refused', status };
  // The stub engines say a nonce in one piece, after one other word.
  const words = answer.match(/nonce-[a-z0-9]+/g) ?? [];
  const isShort = body.max_tokens < 2;
  if (words.some((word) => word !== nonce)) return { kind: 'foreign' };
  const failed = stream && answer.includes('data: {"error"');
  const parts = Array.isArray(body.prompt) ? body.prompt.length : 1;
  if (!failed && !isShort && words.length < parts) return { kind: 'foreign' };
  if (!stream) return { kind: 'ok' };
  if (failed) return { kind: 'error-frame' };
  return answer.endsWith('data: [DONE]\n\n') ? { kind: 'ok' } : { kind: 'unended' };
}
