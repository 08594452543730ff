/** The clients under test, and the gateway that they talk to. */
import { type Gateway, type Setup, startGateway } from '../integration/gateway';
import { aiSdk } from './ai-sdk-client';
import { type Client, KEY, type Question, type Seen } from './client';
import { langchain } from './langchain-client';
import { openaiSdk } from './openai-client';

export const CLIENTS: readonly Client[] = [openaiSdk, aiSdk, langchain];

/** Every client, streamed and not. */
export const WAYS = CLIENTS.flatMap((client) => [
  { name: `${client.name}, not streamed`, streamed: false, ask: client.ask },
  { name: `${client.name}, streamed`, streamed: true, ask: client.stream },
]);

/** A gateway that wants a key. */
export function openGateway(setup: Setup = {}): Promise<Gateway> {
  return startGateway({ ...setup, options: { apiKeys: [KEY], ...setup.options } });
}

/** Asks, and fails unless the client was answered. */
export async function answerOf(ask: Client['ask'], question: Question): Promise<Seen> {
  const seen = await ask(question);
  expect(seen.fault).toBeNull();
  return seen;
}
