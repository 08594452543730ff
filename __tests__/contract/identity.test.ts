/** An identity that makes no sense: the host's mistake, told to the operator and not to the client. */
import { CHAT, CHAT_BODY, call, envelopeOf } from '../helpers/call';
import { startGateway } from '../helpers/create-app';

describe('an identity of authenticate', () => {
  it.each<[string, object, string]>([
    [
      'a tenant that is a number',
      { tenant: 5 },
      'the tenant of an identity must be a string or null, not a number',
    ],
    ['a weight that is none', { tenant: 'red', weight: 'x' }, 'weight of an identity must be a number'],
    ['limits and no tenant', { requestsPerMinute: 5 }, 'an identity with limits needs a tenant'],
  ])('with %s is a 500; row and log say why', async (_words, identity, why) => {
    const { url, journal, logger, fleet } = await startGateway({
      router: { authenticate: () => identity as Record<string, unknown> },
    });
    const reply = await call(url + CHAT, { body: CHAT_BODY });
    expect(reply.status).toBe(500);
    expect(envelopeOf(reply)).toMatchObject({ message: 'the gateway failed', type: 'internal_error' });
    const row = await journal.firstRow();
    expect(row).toMatchObject({ terminal: 'failed', reason: 'internal', status: 500 });
    expect(row.error).toContain(why);
    expect(logger.lines.filter(({ level }) => level === 'error')).toHaveLength(1);
    expect(logger.text).toContain(why);
    expect(fleet.calls).toEqual([]);
  });
});
