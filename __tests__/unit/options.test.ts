/** Checks of options, all at once; and errors that nobody but the library itself could make wrongly. */
import { ConfigError, NarwhalError } from '../../lib/errors';
import { checkAll } from '../../lib/options';
import { thrownBy } from '../helpers/alone';

function fail(error: Error): () => never {
  return () => {
    throw error;
  };
}

describe('many checks at once', () => {
  it('give what each has returned', () => {
    expect(checkAll('f', { a: () => 1, b: () => 'x' })).toEqual({ a: 1, b: 'x' });
  });

  it('are one error with every problem, also those of a check under another name', () => {
    const error = thrownBy(() =>
      checkAll('f', {
        a: fail(new ConfigError('f: a is wrong')),
        b: fail(new ConfigError('other: b is wrong')),
        c: fail(new ConfigError('f: 2 problems', ['c is wrong', 'd is wrong'])),
      }),
    ) as ConfigError;
    expect(error.problems).toEqual(['a is wrong', 'other: b is wrong', 'c is wrong', 'd is wrong']);
  });

  it('do not take a bug for a bad option', () => {
    const bug = new TypeError('a bug');
    expect(thrownBy(() => checkAll('f', { a: fail(bug), b: fail(new ConfigError('f: b')) }))).toBe(bug);
  });
});

describe('an error that lacks what its outcome needs', () => {
  it.each([
    ['engineRefused', {}],
    ['engineRefused', { upstream: { status: 503, type: 't', code: null } }],
    ['engineRefused', { upstream: { status: 429, type: 't', code: null } }],
    ['engineRefused', { upstream: { status: 400.5, type: 't', code: null } }],
    ['engineError', {}],
  ] as const)('is a bug that shows at once: %s %j', (outcome, details) => {
    expect(thrownBy(() => new NarwhalError(outcome, 'x', details))).toBeInstanceOf(TypeError);
  });
});
