/** A refusal that no retry can cure: clients that can tell do not come back. */
import type { StubCall, StubScript } from '../../lib/testing';
import { call } from '../helpers/call';
import { COMPLETIONS } from '../integration/gateway';
import { KEY } from './client';
import { openGateway } from './clients';
import { langchain } from './langchain-client';
import { openaiSdk } from './openai-client';

/** Prefill takes 0.4 ms for each token, so that the gateway learns what a long prompt costs. */
function steadyPrefill({ json }: StubCall): StubScript {
  return { leg: 'prefill', delayMs: 0.4 * ((json?.['prompt'] as unknown[] | undefined)?.length ?? 1) };
}

describe.each([openaiSdk, langchain])('$name', ({ ask, stream }) => {
  it('does not ask again with a prompt that alone takes too long', async () => {
    const gateway = await openGateway({
      stub: { script: steadyPrefill },
      file: { serving: { admission: 'predictive' }, slo: { ttft_s: 0.6 } },
    });
    const headers = { authorization: `Bearer ${KEY}` };
    for (const tokens of [100, 300, 150, 400, 100, 350, 200, 250, 100, 300]) {
      const body = { prompt: new Array(tokens).fill(7), max_tokens: 2 };
      expect((await call(gateway.url + COMPLETIONS, { body, headers })).status).toBe(200);
    }
    const question = { url: gateway.url, prompt: 'word '.repeat(6000), maxRetries: 2 };
    for (const way of [ask, stream]) {
      expect((await way(question)).fault).toMatchObject({ status: 429, type: 'server_overloaded_error' });
    }
    await gateway.router.close();
    expect((await gateway.rowsOf(12)).slice(10)).toMatchObject([
      { terminal: 'refused', reason: 'prompt', attempts: 0 },
      { terminal: 'refused', reason: 'prompt', attempts: 0 },
    ]);
    expect(await gateway.rowsOf(12)).toHaveLength(12);
  });
});
