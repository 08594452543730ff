import { splitPlan } from '../../lib/request/indivisible';
import { parseBody } from '../../lib/request/parse-body';
import type { Route } from '../../lib/request/schema';
import { refusal } from './failure';

function plan(text: string, route: Route = 'completion') {
  return splitPlan(parseBody(Buffer.from(text)), route);
}

/** The text of each prompt of a list, or null where the body is no list. */
function prompts(text: string): string[] | null {
  const result = plan(text);
  if (result.kind !== 'list') return null;
  return result.prompts.map(({ start, end }) => Buffer.from(text).toString('utf8', start, end));
}

function listOf(count: number): string {
  return JSON.stringify({ prompt: Array.from({ length: count }, (_, at) => `p${at}`) });
}

describe('splitPlan', () => {
  it('cuts a list of texts where they stand', () => {
    expect(prompts('{"model":"\u4f60", "prompt" : [ "a" , "b\\u00e9\\"" ] ,"n":1}')).toEqual([
      '"a"',
      '"b\\u00e9\\""',
    ]);
  });

  it('cuts a list of token lists, and one that mixes both', () => {
    expect(prompts('{"prompt":[[1, 15043],[29871]]}')).toEqual(['[1, 15043]', '[29871]']);
    expect(prompts('{"prompt":["a",[1,2],"b"]}')).toEqual(['"a"', '[1,2]', '"b"']);
  });

  it.each([
    '{"prompt":"a"}',
    '{"prompt":[1,15043,29871]}',
    '{"prompt":["a"]}',
    '{"prompt":[[1,2]]}',
    '{"prompt":[]}',
    '{"prompt":[1,null]}',
    '{"prompt":[{"prompt":"a"},{"prompt":"b"}]}',
    '{"prompt":null}',
    '{}',
    '{"__proto__":{"prompt":["a","b"]}}',
  ])('keeps %s whole', (text) => {
    expect(plan(text)).toEqual({ kind: 'whole' });
  });

  it.each(['{"prompt":["a",1]}', '{"prompt":["a",null]}', '{"prompt":[1,"a"]}', '{"prompt":[[1],{}]}'])(
    "refuses %s: how many prompts that is is anybody's guess",
    (text) => {
      expect(refusal(() => plan(text))).toMatchObject({ outcome: 'badFieldType', param: 'prompt' });
      expect(plan(text, 'chat')).toEqual({ kind: 'whole' });
    },
  );

  it('finds a prompt whose key is written with escapes', () => {
    expect(prompts('{"pr\\u006fmpt":["a","b"]}')).toEqual(['"a"', '"b"']);
  });

  it('takes 64 prompts and refuses 65', () => {
    expect(prompts(listOf(64))).toHaveLength(64);
    expect(refusal(() => plan(listOf(65)))).toMatchObject({
      outcome: 'badFieldType',
      status: 400,
      message: 'prompt must hold at most 64 prompts',
      param: 'prompt',
    });
  });

  it('takes any number of token ids in one prompt', () => {
    expect(plan(JSON.stringify({ prompt: Array.from({ length: 5000 }, (_, at) => at) }))).toEqual({
      kind: 'whole',
    });
  });

  it('knows no list of prompts on the chat route', () => {
    expect(plan('{"prompt":["a","b"],"messages":[{}]}', 'chat')).toEqual({ kind: 'whole' });
    expect(plan(listOf(65), 'chat')).toEqual({ kind: 'whole' });
  });

  it.each([
    '{"prompt_logprobs":1}',
    '{"prompt_logprobs":0}',
    '{"prompt_logprobs":-1,"echo":true,"logprobs":1}',
    '{"prompt":["a","b"],"prompt_logprobs":1}',
  ])('asks for one leg because of prompt_logprobs in %s', (text) => {
    expect(plan(text)).toMatchObject({ kind: 'single-leg', field: 'prompt_logprobs' });
    expect(plan(text, 'chat')).toMatchObject({ kind: 'single-leg', field: 'prompt_logprobs' });
  });

  it.each(['{"echo":true,"logprobs":0}', '{"echo":true,"logprobs":5}', '{"echo":true,"logprobs":true}'])(
    'asks for one leg because of echo in %s',
    (text) => {
      expect(plan(text)).toMatchObject({ kind: 'single-leg', field: 'echo' });
      expect(plan(text, 'chat')).toMatchObject({ kind: 'single-leg', field: 'echo' });
    },
  );

  it.each([
    '{"prompt_logprobs":null}',
    '{"echo":true}',
    '{"echo":true,"logprobs":null}',
    '{"echo":true,"logprobs":false}',
    '{"echo":false,"logprobs":1}',
    '{"echo":null,"logprobs":1}',
    '{"logprobs":1}',
    '{"__proto__":{"prompt_logprobs":1,"echo":true,"logprobs":1}}',
  ])('asks for nothing because of %s', (text) => {
    expect(plan(text)).toEqual({ kind: 'whole' });
  });

  it('holds the limit also where everything goes in one leg', () => {
    expect(refusal(() => plan(listOf(65).replace('}', ',"prompt_logprobs":1}'))).param).toBe('prompt');
  });

  it.each([
    '{"prompt_embeds":"x"}',
    '{"prompt_embeds":["x"]}',
    '{"prompt_embeds":"x","prompt":""}',
    '{"prompt_embeds":"x","prompt":[]}',
    '{"prompt_embeds":"x","prompt":null}',
    '{"prompt_embeds":null,"prompt":"a"}',
    '{"prompt_embeds":[],"prompt":"a"}',
  ])('keeps one prompt of embeds whole in %s', (text) => {
    expect(plan(text)).toEqual({ kind: 'whole' });
  });

  it.each([
    '{"prompt_embeds":["x","y"]}',
    '{"prompt_embeds":"x","prompt":"a"}',
    '{"prompt_embeds":["x"],"prompt":[1,2]}',
    '{"prompt_embeds":"x","prompt":["a","b"]}',
  ])('refuses %s: one handoff would serve several prompts', (text) => {
    expect(refusal(() => plan(text))).toMatchObject({
      outcome: 'badFieldType',
      message: 'prompt_embeds must be the only prompt',
      param: 'prompt_embeds',
    });
    expect(plan(text, 'chat')).toEqual({ kind: 'whole' });
  });
});
