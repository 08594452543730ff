/** Lists of keys that came out of variables, and identities that are nearly right. */
import { authStrip, ConfigError } from '../../lib/index';
import { thrownBy } from '../helpers/alone';

describe('a list of keys', () => {
  it.each([
    [['ok', 'undefined'], 'apiKeys: key number 2 is the word undefined: is its variable set?'],
    [{ null: {} }, 'apiKeys: key number 1 is the word null: is its variable set?'],
    [[null], 'apiKeys: key number 1 is null: is its environment variable set?'],
    [{ key: [] }, 'apiKeys: the identity of key number 1 must be an object'],
    [
      { a: { requestPerMinute: 5 } },
      'apiKeys: key number 1: unknown member requestPerMinute (did you mean requestsPerMinute?)',
    ],
    [
      { a: {}, b: { tokenPerMinute: 5 } },
      'apiKeys: key number 2: unknown member tokenPerMinute (did you mean tokensPerMinute?)',
    ],
  ])('is refused where a variable was not set, or a limit would be none: %j', (apiKeys, message) => {
    const error = thrownBy(() => authStrip({ apiKeys: apiKeys as never }));
    expect(error).toBeInstanceOf(ConfigError);
    expect(error?.message).toBe(message);
  });

  it('may give its identities members of the host, which are near no name of ours', () => {
    expect(thrownBy(() => authStrip({ apiKeys: { key: { team: 'host', plan: 5 } } }))).toBeNull();
  });
});
