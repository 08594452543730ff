/** The official SDK in front of a gateway. */
import OpenAI from 'openai';
import { type Gateway, type Setup, startGateway } from './gateway';

export const MODEL = 'example/model';
const KEY = 'client-key-1';
export const TOOLS = [
  {
    type: 'function' as const,
    function: { name: 'weather', parameters: { type: 'object', properties: { note: { type: 'string' } } } },
  },
];

export async function start(setup: Setup = {}): Promise<{ gateway: Gateway; client: OpenAI }> {
  const gateway = await startGateway({ ...setup, options: { apiKeys: [KEY], ...setup.options } });
  return { gateway, client: clientOf(gateway) };
}

export function clientOf(gateway: Gateway, apiKey = KEY): OpenAI {
  return new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey, maxRetries: 0 });
}
