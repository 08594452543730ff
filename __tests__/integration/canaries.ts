/** Gateways whose keys must be found nowhere. Importing this sets the variable of the engines' key. */
import { type Gateway, type Setup, startGateway } from './gateway';

export const ENGINE_KEY = 'CANARY-engine-key-7f3a';
export const CLIENT_KEY = 'CANARY-client-key-91bc';
const ENGINE_KEY_NAME = 'NARWHAL_TEST_SECRETS_KEY';

beforeAll(() => {
  process.env[ENGINE_KEY_NAME] = ENGINE_KEY;
});
afterAll(() => {
  delete process.env[ENGINE_KEY_NAME];
});

export function withKeys(setup: Setup = {}): Promise<Gateway> {
  return startGateway({
    ...setup,
    stub: { apiKey: ENGINE_KEY, ...setup.stub },
    file: { ...setup.file, engine: { engine_api_key_env: ENGINE_KEY_NAME, ...setup.file?.engine } },
    options: { apiKeys: { [CLIENT_KEY]: { tenant: 'team-a' } }, ...setup.options },
  });
}

export const AUTHORIZED = { authorization: `Bearer ${CLIENT_KEY}` };

/** Everything that an engine was told beside its body. */
export function heads(gateway: Gateway): string {
  return JSON.stringify(
    gateway.fleet.calls.map(({ rawHeaders, path, query, method }) => [rawHeaders, path, query, method]),
  );
}

/** Everything that an operator may read. */
export async function papers(gateway: Gateway, rows: number): Promise<string> {
  return (
    JSON.stringify(await gateway.rowsOf(rows)) + gateway.logText + JSON.stringify(gateway.router.state())
  );
}
