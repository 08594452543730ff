import { nixl } from '../../lib/engines/connectors/nixl';

const HANDOFF = '{ "remote_block_ids":[[1]], "n":12345678901234567890 }';

/** What is made of an answer: the text of the handoff, or why there is none. */
function taken(answer: string): string {
  const reading = nixl.take(Buffer.from(answer), JSON.parse(answer) as Record<string, unknown>);
  return reading.kind === 'handoff' ? reading.text.toString() : reading.detail;
}

describe('the handoff of a prefill answer', () => {
  it.each([
    ['alone', `{"id":"a","kv_transfer_params" : ${HANDOFF} ,"usage":null}`],
    ['after a text that names it', `{"id":"\\"kv_transfer_params\\": 1","kv_transfer_params":${HANDOFF}}`],
    ['beside a value of that name', `{"id":"kv_transfer_params","kv_transfer_params":${HANDOFF}}`],
    ['stated twice', `{"kv_transfer_params":{"old":1},"kv_transfer_params":${HANDOFF}}`],
    ['spelled with an escape', `{"kv_transfer\\u005fparams":${HANDOFF},"id":"kv_transfer_params"}`],
    [
      'with one of that name further in',
      `{"a":{"kv_transfer_params":{"b":1}},"kv_transfer_params":${HANDOFF}}`,
    ],
    ['in the first choice', `{"choices":[{"kv_transfer_params":${HANDOFF}}],"kv_transfer_params":null}`],
  ])('is taken as it stands: %s', (_case, answer) => {
    expect(taken(answer)).toBe(HANDOFF);
  });

  it.each([
    ['{"id":"a"}', 'the prefill answer has no kv_transfer_params'],
    ['{"choices":{"kv_transfer_params":1}}', 'the prefill answer has no kv_transfer_params'],
    ['{"choices":[null]}', 'the prefill answer has no kv_transfer_params'],
    ['{"kv_transfer_params":[1]}', 'kv_transfer_params is not an object with members'],
    ['{"kv_transfer_params":{}}', 'kv_transfer_params is not an object with members'],
    ['{"kv_transfer_params":"x"}', 'kv_transfer_params is not an object with members'],
    [
      '{"kv_transfer_params":{"do_remote_prefill":true,"remote_block_ids":null}}',
      'kv_transfer_params names no blocks',
    ],
    [
      '{"kv_transfer_params":{"do_remote_prefill":true,"remote_block_ids":[[],[]]}}',
      'kv_transfer_params names no blocks',
    ],
  ])('is missing in %s', (answer, why) => {
    expect(taken(answer)).toBe(why);
  });
});
