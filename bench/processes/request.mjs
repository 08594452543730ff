// The request that the load clients send, as bytes; and the reading of their flags.

/** @param {string} name @param {string | number} [fallback] */
export function flag(name, fallback) {
  const at = process.argv.indexOf(`--${name}`);
  return at === -1 ? fallback : process.argv[at + 1];
}

const LINE = 'The quick brown fox said "hi" to the lazy dogs.\n';

/**
 * @param {{ port: number, kb?: number, stream?: boolean, decode?: boolean, headers?: string[] }} what
 *   `kb` pads the prompt; `decode` makes it a decode leg, for whoever takes an engine's place
 */
export function requestBytes({ port, kb = 0, stream = false, decode = false, headers = [] }) {
  const prompt = kb === 0 ? 'Hello, who are you?' : LINE.repeat(Math.ceil((kb * 1024) / 49));
  const body = {
    model: 'bench/model',
    messages: [
      { role: 'system', content: 'You are a helpful assistant.' },
      { role: 'user', content: prompt },
    ],
    max_tokens: 64,
    temperature: 0.7,
    ...(stream ? { stream: true, stream_options: { include_usage: true } } : {}),
    ...(decode ? { kv_transfer_params: { remote_engine_id: 'x' } } : {}),
  };
  const text = Buffer.from(JSON.stringify(body));
  const head = [
    'POST /v1/chat/completions HTTP/1.1',
    `host: 127.0.0.1:${port}`,
    'content-type: application/json',
    'authorization: Bearer bench-key',
    ...headers,
    `content-length: ${text.length}`,
  ];
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), text]);
}
