/** Every row of the table of outcomes over HTTP: status, envelope, header, journal row and series say one word. */
import { OUTCOMES, type OutcomeName, type OutcomeRow } from '../../lib/outcomes';
import { CHAT, CHAT_BODY, call, envelopeOf } from '../helpers/call';
import { startGateway } from '../helpers/create-app';
import { ENDS, gatewayFor, sendFor } from './ends';
import { scrape } from './scrape';

const NAMES = Object.keys(OUTCOMES) as OutcomeName[];

it.each(NAMES)('%s is told alike in the answer, the journal and the series', async (name) => {
  const outcome: OutcomeRow = OUTCOMES[name];
  const gateway = await gatewayFor(name);
  const release = await ENDS[name].before?.(gateway);
  const reply = await sendFor(name, gateway);

  expect(reply.status).toBe(outcome.status === '4xx' ? 422 : outcome.status);
  expect(reply.headers['x-narwhal-reason']).toBe(outcome.reason);
  const error = envelopeOf(reply);
  const isLeg = outcome.type === 'leg';
  if (outcome.type !== '*') {
    expect([error.type, error.code]).toEqual(
      isLeg ? [expect.stringMatching(/^(prefill|decode)$/), error.type] : [outcome.type, outcome.code],
    );
  }
  const { 'retry-after': retryAfter, 'x-should-retry': shouldRetry, 'x-request-id': rid } = reply.headers;
  expect(retryAfter).toEqual(outcome.retryAfter ? expect.stringMatching(/^([1-9]|[1-5]\d|60)$/) : undefined);
  expect(shouldRetry).toBe(name === 'promptOverBudget' ? 'false' : undefined);

  let row = gateway.journal.rows.find((each) => each.rid === rid);
  for (let count = 1; row === undefined; count++) {
    await gateway.journal.waitForRows(count);
    row = gateway.journal.rows.find((each) => each.rid === rid);
  }
  const { terminal, reason } = outcome;
  expect(row).toMatchObject({ terminal, reason, status: reply.status });

  const seen = await scrape(gateway.url);
  const stream = row.stream === null ? 'unknown' : String(row.stream);
  const ofReason = gateway.journal.rows.filter(
    (each) => each.terminal === terminal && each.reason === reason,
  );
  expect(seen.value('narwhal_requests_total', { route: CHAT, stream, terminal, reason })).toBe(
    ofReason.length,
  );
  expect(seen.sum('narwhal_requests_total')).toBe(gateway.journal.rows.length);
  await release?.();
});

it('counts a client that left as cancelled', async () => {
  const { url, journal, fleet } = await startGateway({ stub: { script: { leg: 'prefill', hang: true } } });
  const controller = new AbortController();
  const held = call(url + CHAT, { body: CHAT_BODY, signal: controller.signal }).catch(() => null);
  while (fleet.calls.length === 0) await new Promise((resolve) => setTimeout(resolve, 2));
  controller.abort();
  await held;
  expect(await journal.firstRow()).toMatchObject({ terminal: 'cancelled', reason: 'client_closed' });
  const labels = { terminal: 'cancelled', reason: 'client_closed' };
  expect((await scrape(url)).sum('narwhal_requests_total', labels)).toBe(1);
});

it('counts a stream that fails after its first output as failed, although its status was 200', async () => {
  const { url, journal } = await startGateway({
    stub: { script: { leg: 'decode', resetAfterFrames: 3 } },
  });
  const reply = await call(url + CHAT, { body: { ...CHAT_BODY, stream: true } });
  expect([reply.status, reply.text.includes('"code":"failed"')]).toEqual([200, true]);
  expect(await journal.firstRow()).toMatchObject({ terminal: 'failed', reason: 'engine_connection' });
  const labels = { route: CHAT, stream: 'true', terminal: 'failed', reason: 'engine_connection' };
  expect((await scrape(url)).value('narwhal_requests_total', labels)).toBe(1);
});
