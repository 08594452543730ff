/** The samples of docs/clients.md stream an answer of a real router. */
import { rmSync } from 'node:fs';
import { startGateway } from '../helpers/create-app';
import { MODEL } from '../integration/sdk';
import { codeBlocks, readPage } from './markdown';
import { hostFolder, run } from './sample';

describe('docs/clients.md', () => {
  let folder: string;
  beforeAll(() => {
    folder = hostFolder();
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  const samples = codeBlocks(readPage('docs/clients.md'))
    .filter(({ info }) => info === 'js client')
    .map(({ text, line }) => ({ text, line, client: /from '(.+?)'/.exec(text)?.[1] }));

  test('has a sample for each client', () => {
    expect(samples.map(({ client }) => client)).toEqual([
      'openai',
      '@ai-sdk/openai-compatible',
      '@langchain/openai',
    ]);
  });

  test.each(samples)(
    'the sample with $client prints the answer',
    async ({ text }) => {
      const gateway = await startGateway({ router: { apiKeys: ['key-of-acme'] } });
      const env = { GATEWAY_URL: `${gateway.url}/v1`, GATEWAY_KEY: 'key-of-acme' };
      const sample = run(folder, text, env);
      expect({ code: await sample.code, output: sample.output() }).toMatchObject({
        code: 0,
        output: expect.stringMatching(/^Heard ./) as string,
      });
      expect(await gateway.allRows()).toMatchObject([
        { terminal: 'completed', stream: true, status: 200, wanted_len: null },
      ]);
      expect(gateway.fleet.calls.every(({ json }) => json?.['model'] === MODEL)).toBe(true);
    },
    60_000,
  );
});
