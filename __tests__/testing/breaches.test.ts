import { type StubFleet, startStubFleet } from '../../lib/testing/index';
import { CHAT, COMPLETIONS, decodeBody, MESSAGES, PREFILL, post, send } from './client';

const BODY = { model: 'example/model', messages: MESSAGES };

function names(fleet: StubFleet): string[] {
  return fleet.breaches.map((text) => text.slice(0, text.indexOf(':')));
}

async function handoffOf(fleet: StubFleet, body: object = BODY, path = CHAT): Promise<string> {
  await post(fleet.engine('p0'), path, { ...body, ...PREFILL });
  const { handoff } = fleet.calls.at(-1)!;
  if (handoff === null) throw new Error('no handoff');
  return handoff;
}

describe('breaches', () => {
  let fleet: StubFleet;
  beforeAll(async () => {
    fleet = await startStubFleet({ both: 1 });
  });
  afterAll(() => fleet.close());
  beforeEach(() => fleet.reset());

  it.each([
    ['stream true', { stream: true }],
    ['two tokens', { max_tokens: 2 }],
    ['no limit', { max_tokens: undefined }],
    ['a newer limit', { max_completion_tokens: 9 }],
    ['no handoff asked for', { kv_transfer_params: undefined }],
    ['remote decode off', { kv_transfer_params: { do_remote_decode: false } }],
    ['stream options', { stream_options: {} }],
    ['a handoff', { kv_transfer_params: { do_remote_decode: true, do_remote_prefill: true } }],
  ])('a prefill leg with %s', async (_name, members) => {
    await post(fleet.engine('p0'), CHAT, { ...BODY, ...PREFILL, ...members });
    expect(names(fleet)).toEqual(['prefill-shape']);
    expect(() => fleet.assertNoBreaches()).toThrow(/prefill-shape: .*engine p0, request r\d+/);
  });

  it.each([
    ['n', { n: 2 }, 'width'],
    ['beam search', { use_beam_search: true }, 'width'],
    ['prompt_logprobs', { prompt_logprobs: 1 }, 'unsplittable'],
    ['prompts', { prompt: ['a', 'b'] }, 'unsplittable'],
    ['token prompts', { prompt: [[1], [2]] }, 'unsplittable'],
    ['echo and logprobs', { echo: true, logprobs: 0 }, 'unsplittable'],
  ])('%s with a handoff', async (_name, members, breach) => {
    await post(fleet.engine('p0'), COMPLETIONS, { prompt: 'a', ...PREFILL, ...members });
    expect(names(fleet)).toEqual([breach]);
  });

  it.each([undefined, null])('a decode leg with kv_transfer_params %j', async (kv_transfer_params) => {
    await post(fleet.engine('d0'), CHAT, { ...BODY, stream: true, kv_transfer_params });
    expect(names(fleet)).toEqual(['decode-without-handoff']);
  });

  it('a handoff used twice, claimed or refused the first time', async () => {
    const text = decodeBody(BODY, await handoffOf(fleet));
    await post(fleet.engine('d0'), CHAT, text);
    await post(fleet.engine('d0'), CHAT, text);
    expect(names(fleet)).toEqual(['handoff-reused']);
    const refused = decodeBody(BODY, await handoffOf(fleet));
    fleet.engine('d0').script = { status: 500, times: 1 };
    await post(fleet.engine('d0'), CHAT, refused);
    await post(fleet.engine('d0'), CHAT, refused);
    expect(names(fleet)).toEqual(['handoff-reused', 'handoff-reused']);
  });

  it('a reclaim of a handoff that was claimed', async () => {
    const handoff = await handoffOf(fleet);
    await post(fleet.engine('d0'), CHAT, decodeBody(BODY, handoff));
    const headers = { 'x-request-id': 'q-reclaim' };
    await post(fleet.engine('d0'), CHAT, decodeBody({ ...BODY, max_tokens: 1 }, handoff), { headers });
    expect(names(fleet)).toEqual(['handoff-reused']);
    expect(fleet.ledger).toMatchObject({ claimed: 1, released: 0 });
  });

  it.each([
    ['parsed and written again', (text: string) => JSON.stringify(JSON.parse(text))],
    ['with a blank', (text: string) => text.replace(':', ': ')],
    ['with a member more', (text: string) => text.replace('{', '{"x":1,')],
    ['with a member less', (text: string) => text.replace('"tp_size":1,', '')],
  ])('a handoff %s', async (_name, change) => {
    await post(fleet.engine('d0'), CHAT, decodeBody(BODY, change(await handoffOf(fleet))));
    expect(names(fleet)).toEqual(['handoff-changed']);
  });

  it('a handoff that nobody produced', async () => {
    await post(fleet.engine('d0'), CHAT, decodeBody(BODY, '{"remote_request_id":"none"}'));
    expect(names(fleet)).toEqual(['handoff-unknown']);
  });

  it('a handoff or a request for one at an engine that works alone', async () => {
    await post(fleet.engine('b0'), CHAT, { ...BODY, ...PREFILL });
    expect(names(fleet)).toEqual(['handoff-at-both']);
  });

  it.each([
    ['messages', { messages: [{ content: 'Say nonce-abc7 please', role: 'user' }] }],
    ['tools', { tools: [] }],
    ['chat_template_kwargs', { chat_template_kwargs: { a: 1 } }],
    ['cache_salt', { cache_salt: 's' }],
    ['add_generation_prompt', { add_generation_prompt: false }],
    ['truncate_prompt_tokens', { truncate_prompt_tokens: 9 }],
    ['model', { model: undefined }],
  ])('a difference in %s', async (name, members) => {
    await post(fleet.engine('d0'), CHAT, decodeBody({ ...BODY, ...members }, await handoffOf(fleet)));
    expect(names(fleet)).toEqual(['prompt-differs']);
    expect(fleet.breaches[0]).toContain(name);
  });

  it('a difference that only the text shows', async () => {
    const handoff = await handoffOf(fleet, { prompt: 'é' }, COMPLETIONS);
    const text = decodeBody({ prompt: 'é' }, handoff).replace('"é"', '"\\u00e9"');
    await post(fleet.engine('d0'), COMPLETIONS, text);
    expect(names(fleet)).toEqual(['prompt-differs']);
  });

  it('another path', async () => {
    const handoff = await handoffOf(fleet, { ...BODY, prompt: 'a' });
    await post(fleet.engine('d0'), COMPLETIONS, decodeBody({ ...BODY, prompt: 'a' }, handoff));
    expect(fleet.breaches[0]).toContain('prompt-differs: the path');
  });

  it('no difference in what does not shape the prompt, nor in null', async () => {
    const handoff = await handoffOf(fleet, { ...BODY, tool_choice: 'auto', cache_salt: null });
    await post(fleet.engine('d0'), CHAT, decodeBody({ ...BODY, temperature: 2, stop: ['x'] }, handoff));
    fleet.assertNoBreaches();
  });

  it('a request id that is missing, empty or repeated', async () => {
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify(BODY);
    const { url } = fleet.engine('b0');
    await send(url + CHAT, { headers, body });
    await send(url + CHAT, { headers: { ...headers, 'x-request-id': '' }, body });
    expect(names(fleet)).toEqual(['request-id-missing', 'request-id-missing']);
    await send(url + CHAT, { headers: { ...headers, 'x-request-id': 'same' }, body });
    await send(url + CHAT, { headers: { ...headers, 'x-request-id': 'same' }, body });
    expect(names(fleet).slice(2)).toEqual(['request-id-repeated']);
  });

  it.each(['cookie', 'x-api-key', 'x-forwarded-for', 'x-data-parallel-rank'])('a header %s', async (name) => {
    await post(fleet.engine('b0'), CHAT, BODY, { headers: { [name]: '1' } });
    await send(`${fleet.engine('b0').url}/health`, { method: 'GET', headers: { [name]: '1' } });
    expect(names(fleet)).toEqual(['header', 'header']);
  });

  it('a query string', async () => {
    expect((await post(fleet.engine('b0'), `${CHAT}?a=1`, BODY)).status).toBe(200);
    expect(names(fleet)).toEqual(['query']);
  });

  it('not a one-token probe, on any role', async () => {
    for (const iid of ['p0', 'd0', 'b0']) {
      const headers = { 'x-request-id': `probe-${iid}` };
      await post(fleet.engine(iid), COMPLETIONS, { prompt: 'a', max_tokens: 1 }, { headers });
    }
    fleet.assertNoBreaches();
    expect(fleet.calls.map((call) => call.leg)).toEqual(['single', 'single', 'single']);
  });

  it('a function of the test that throws', async () => {
    fleet.engine('b0').script = () => {
      throw new Error('oops in the script');
    };
    expect((await post(fleet.engine('b0'), CHAT, BODY)).error).toBe('ECONNRESET');
    expect(fleet.breaches[0]).toContain('oops in the script');
    fleet.engine('b0').script = undefined;
  });
});

describe('breaches of a fleet of its own', () => {
  let fleet: StubFleet | undefined;
  afterEach(() => fleet?.close());

  it('a handoff that is older than its lease', async () => {
    fleet = await startStubFleet({ leaseS: 0 });
    const handoff = await handoffOf(fleet);
    await post(fleet.engine('d0'), CHAT, decodeBody(BODY, handoff));
    expect(names(fleet)).toEqual(['handoff-expired']);
    expect(fleet.ledger).toMatchObject({ expired: 1, claimed: 0, open: [] });
  });

  it('are not noted by a check that is switched off', async () => {
    fleet = await startStubFleet({ lenient: ['header', 'decode-without-handoff'] });
    await post(fleet.engine('d0'), `${CHAT}?a=1`, BODY, { headers: { cookie: 'a' } });
    expect(names(fleet)).toEqual(['query']);
  });

  it('need a check that exists', async () => {
    await expect(startStubFleet({ lenient: ['headers' as 'header'] })).rejects.toThrow('unknown headers');
  });
});
