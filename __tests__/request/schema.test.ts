import { createBodyChecks, RESERVED_FIELDS } from '../../lib/request/schema';

type Value = Record<string, unknown>;

const checks = createBodyChecks();

/** A value as a client would send it: `__proto__` is an own member here. */
function json(text: string): Value {
  return JSON.parse(text) as Value;
}

describe('checkReserved', () => {
  it.each(['kv_transfer_params', 'ec_transfer_params', 'kv_cache_report_mode'])(
    'refuses %s in vllm_xargs, whatever its value',
    (key) => {
      for (const inner of [{ [key]: { remote_host: '192.0.2.9' } }, { other: 1, [key]: null }]) {
        expect(checks.checkReserved({ vllm_xargs: inner })).toMatchObject({
          outcome: 'reservedField',
          status: 400,
          message: `vllm_xargs must not set ${key}`,
          param: 'vllm_xargs',
        });
      }
    },
  );

  it('finds a key that is written with escapes', () => {
    const value = json('{"vllm_xargs":{"kv\\u005ftransfer_params":1}}');
    expect(checks.checkReserved(value)?.param).toBe('vllm_xargs');
  });

  it.each([
    '{}',
    '{"vllm_xargs":null}',
    '{"vllm_xargs":{}}',
    '{"vllm_xargs":{"mine":1,"__proto__":{"kv_transfer_params":1}}}',
    '{"vllm_xargs":["kv_transfer_params"]}',
    '{"vllm_xargs":"kv_transfer_params"}',
    '{"kv_transfer_params":{},"request_id":"x"}',
    '{"__proto__":{"vllm_xargs":{"kv_transfer_params":1}}}',
  ])('lets %s pass', (text) => {
    expect(checks.checkReserved(json(text))).toBeNull();
  });

  it('knows the fields that are dropped instead', () => {
    expect(RESERVED_FIELDS).toEqual([
      'kv_transfer_params',
      'ec_transfer_params',
      'request_id',
      'rid',
      'bootstrap_host',
      'bootstrap_port',
      'bootstrap_room',
    ]);
  });
});

describe('checkOutputOptions', () => {
  const refused: [option: string, values: string[]][] = [
    ['audio', ['{"voice":"x"}', 'false', '""', '0']],
    [
      'modalities',
      ['["audio"]', '["text","audio"]', '["text","text"]', '[]', '"text"', '["audio","text"]', '0'],
    ],
    ['tools', ['{}', '"x"', '[1]', '[null]', '[[]]', '[{"type":"function"},"x"]', 'false']],
    ['tools', ['[{"type":"mcp"}]', '[{"type":"function"},{"type":"web_search"}]', '[{"type":null}]']],
  ];

  describe.each(refused)('%s', (option, values) => {
    it.each(values)('is refused as %s, but left to the engine where the answer is streamed', (text) => {
      const value = json(`{"${option}":${text}}`);
      expect(checks.checkOutputOptions(value)).toMatchObject({
        outcome: 'badOutputOption',
        status: 400,
        param: option,
      });
      expect(checks.checkOutputOptions({ ...value, stream: false })?.param).toBe(option);
      expect(checks.checkOutputOptions({ ...value, stream: null })?.param).toBe(option);
      expect(checks.checkOutputOptions({ ...value, stream: true })).toBeNull();
    });
  });

  it.each([
    '{}',
    '{"audio":null,"modalities":null,"tools":null}',
    '{"modalities":["text"]}',
    '{"tools":[]}',
    '{"tools":[{"type":"function","function":{}},{"function":{}},{"__proto__":{"type":"mcp"}}]}',
    '{"__proto__":{"audio":1}}',
  ])('lets %s pass', (text) => {
    expect(checks.checkOutputOptions(json(text))).toBeNull();
  });

  it('names the option in words of its own', () => {
    const messages = ['{"audio":1}', '{"modalities":1}', '{"tools":1}', '{"tools":[{"type":"x"}]}'].map(
      (text) => checks.checkOutputOptions(json(text))?.message,
    );
    expect(messages).toEqual([
      'audio is not supported',
      'modalities must be ["text"]',
      'tools must be an array of objects',
      'tools must all be of type function',
    ]);
  });
});

describe('checkModel', () => {
  it('lets the served models, null and no model pass', () => {
    for (const value of [
      { model: 'm1' },
      { model: 'm2' },
      { model: null },
      {},
      json('{"__proto__":{"model":"x"}}'),
    ]) {
      expect(checks.checkModel(value, ['m1', 'm2'])).toBeNull();
    }
  });

  it.each([['m3'], [''], ['M1'], [['m1']], [7]])('refuses %j without repeating it', (model) => {
    const error = checks.checkModel({ model }, ['m1', 'm2']);
    expect(error?.status).toBe(404);
    expect(error?.toJSON()).toEqual({
      error: {
        message: 'the model does not exist or is not served here',
        type: 'invalid_request_error',
        param: 'model',
        code: 'model_not_found',
      },
    });
  });
});

describe('checkSamplingWidth', () => {
  it.each([
    '{}',
    '{"n":1,"best_of":1}',
    '{"n":1.0,"best_of":null}',
    '{"n":null}',
    '{"use_beam_search":false}',
  ])('lets %s pass', (text) => {
    expect(checks.checkSamplingWidth(json(text))).toBeNull();
  });

  it.each(['2', '0', '-1', '1.5', '"1"', 'true', 'false', '[]', '1e400'])(
    'refuses a width of %s and names the field',
    (text) => {
      for (const field of ['n', 'best_of']) {
        expect(checks.checkSamplingWidth(json(`{"${field}":${text}}`))).toMatchObject({
          outcome: 'badSamplingWidth',
          status: 400,
          message: `${field} must be 1`,
          param: field,
        });
      }
    },
  );

  it.each(['true', '1', '"true"'])('refuses use_beam_search: %s, which an engine reads as true', (text) => {
    expect(checks.checkSamplingWidth(json(`{"n":1,"use_beam_search":${text}}`))).toMatchObject({
      outcome: 'badSamplingWidth',
      message: 'use_beam_search must be false',
      param: 'use_beam_search',
    });
  });

  it('reads own members only', () => {
    expect(checks.checkSamplingWidth(json('{"__proto__":{"n":3,"use_beam_search":true}}'))).toBeNull();
  });
});

describe('checkRequired', () => {
  it.each([
    '{}',
    '{"messages":null}',
    '{"messages":[]}',
    '{"prompt":"hi"}',
    '{"__proto__":{"messages":[{}]}}',
  ])('asks for messages on the chat route where it gets %s', (text) => {
    expect(checks.checkRequired(json(text), 'chat')).toMatchObject({
      outcome: 'missingField',
      status: 400,
      message: 'messages is required',
      param: 'messages',
    });
  });

  it.each([
    '{}',
    '{"prompt":null}',
    '{"prompt":[]}',
    '{"messages":[{}]}',
    '{"prompt_embeds":null}',
    '{"prompt_embeds":[]}',
  ])('asks for a prompt on the completion route where it gets %s', (text) => {
    expect(checks.checkRequired(json(text), 'completion')).toMatchObject({
      outcome: 'missingField',
      status: 400,
      message: 'prompt is required',
      param: 'prompt',
    });
  });

  it.each([
    '{"prompt":"hi"}',
    '{"prompt":""}',
    '{"prompt":[1]}',
    '{"prompt_embeds":"x"}',
    '{"prompt":[],"prompt_embeds":["x"]}',
  ])('is content with %s on the completion route', (text) => {
    expect(checks.checkRequired(json(text), 'completion')).toBeNull();
  });

  it('is content with one message on the chat route', () => {
    expect(checks.checkRequired({ messages: [{}] }, 'chat')).toBeNull();
  });
});

describe('createBodyChecks', () => {
  it('gives checks that share nothing', () => {
    const other = createBodyChecks();
    expect(checks.checkFieldTypes({ n: 'x' })?.param).toBe('n');
    expect(other.checkFieldTypes({ n: 1 })).toBeNull();
    expect(other.checkFieldTypes).not.toBe(checks.checkFieldTypes);
  });
});
