import { sumUsage } from '../../lib/serving/usage';

describe('the sum of usages', () => {
  it('is null where nobody has stated one', () => {
    expect(sumUsage([])).toBeNull();
  });

  it('adds numbers, also those of details that only some have', () => {
    const first = { prompt_tokens: 3, prompt_tokens_details: null, extra: { a: 1 } };
    const second = { prompt_tokens: 4, prompt_tokens_details: { cached_tokens: 2 }, extra: { a: 2, b: 5 } };
    expect(sumUsage([first, second])).toEqual({
      prompt_tokens: 7,
      prompt_tokens_details: { cached_tokens: 2 },
      extra: { a: 3, b: 5 },
    });
  });

  it('keeps the first of what cannot be added', () => {
    const usages = [
      { tier: 'a', list: [1], late: null },
      { tier: 'b', list: [2], late: 'x' },
    ];
    expect(sumUsage(usages)).toEqual({ tier: 'a', list: [1], late: 'x' });
  });
});
