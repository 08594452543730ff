/** The matchers for hosts' tests. */
import { startStubFleet, toHaveNoBreaches, toHaveNoOpenHandoffs } from '../../lib/testing';
import { closeLater } from '../helpers/close-all';
import { openStubFleet } from '../helpers/open-stub-fleet';

const PREFILL = {
  model: 'example/model',
  prompt: 'hi',
  max_tokens: 1,
  stream: false,
  kv_transfer_params: { do_remote_decode: true },
};

function post(url: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${url}/v1/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-request-id': 'r1-a1-prefill', ...headers },
    body: JSON.stringify(body),
  });
}

describe('toHaveNoBreaches', () => {
  test('passes for a fleet that nobody has called wrongly', async () => {
    expect(toHaveNoBreaches(await openStubFleet())).toMatchObject({ pass: true });
  });

  test('fails with the list of breaches', async () => {
    const fleet = closeLater(await startStubFleet());
    await post(fleet.engine('d0').url, { prompt: 'hi' });
    const { pass, message } = toHaveNoBreaches(fleet);
    expect(pass).toBe(false);
    expect(message()).toMatch(/^expected no breach of the wire, but there were \d+:\n {2}\S/);
    expect(message()).toContain('decode-without-handoff');
  });
});

describe('toHaveNoOpenHandoffs', () => {
  test('fails while a prefill engine holds a cache that nobody has taken, and says which', async () => {
    const fleet = closeLater(await startStubFleet());
    expect(toHaveNoOpenHandoffs(fleet)).toMatchObject({ pass: true });
    await post(fleet.engine('p0').url, PREFILL);
    const { pass, message } = toHaveNoOpenHandoffs(fleet);
    expect(pass).toBe(false);
    expect(message()).toBe('expected no open handoff, but there are 1:\n  on p0, made by r1-a1-prefill');
  });
});
