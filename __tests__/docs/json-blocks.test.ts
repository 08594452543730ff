/** The json blocks of the docs are what they look like: fleet files that load, envelopes, journal rows. */
import { parseFleet } from '../../lib/config/fleet-file';
import { OUTCOMES, type OutcomeRow, REASONS } from '../../lib/outcomes';
import { CHAT, HI, startGateway } from '../integration/gateway';
import { codeBlocks, PAGES, readPage } from './markdown';

/** Variables that fleet files of the docs name. */
const ENV = { NARWHAL_D0_URL: 'http://10.0.0.2:8000', NARWHAL_ENGINE_KEY: 'engine-secret' };
const outcomes: readonly OutcomeRow[] = Object.values(OUTCOMES);

type Json = Readonly<Record<string, unknown>>;

/** Throws for an error that no answer can have. */
function checkEnvelope({ error, ...others }: Json): void {
  expect(others).toEqual({});
  const { message, type, param, code } = error as Json;
  expect(error).toEqual({ message, type, param, code });
  const known = outcomes.filter((row) => row.type === type && row.code === code);
  expect(known.length).toBeGreaterThan(0);
}

/** Throws for a row that no journal can have. */
function checkRow(block: Json, real: Json): void {
  expect(Object.keys(block)).toEqual(Object.keys(real));
  const { terminal, reason } = block;
  expect(reason === null ? 'completed' : REASONS.get(String(reason))?.[0]).toBe(terminal);
  for (const [name, value] of Object.entries(block)) {
    if (value === null || real[name] === null) continue;
    expect([name, typeof value]).toEqual([name, typeof real[name]]);
  }
}

const blocks = PAGES.flatMap((page) =>
  codeBlocks(readPage(page))
    .filter(({ info }) => info === 'json')
    .map(({ text, line }) => ({ name: `${page}:${line}`, value: JSON.parse(text) as Json })),
);

describe('json blocks of the docs', () => {
  test('show each kind that there is', () => {
    const kinds = ['engines', 'error', 'rid'];
    for (const kind of kinds) expect(blocks.some(({ value }) => kind in value)).toBe(true);
  });

  test.each(blocks)(
    '$name is a fleet file, an envelope or a journal row, and a good one',
    async ({ value }) => {
      if ('engines' in value) parseFleet(value, { env: ENV });
      else if (!('rid' in value)) checkEnvelope(value);
      else {
        const gateway = await startGateway();
        await gateway.post(CHAT, { messages: HI, stream: true });
        checkRow(value, (await gateway.row()) as unknown as Json);
      }
    },
  );

  test('are found out where they are wrong', () => {
    const error = { message: 'x', type: 'invalid_request_error', param: null, code: 'none_such' };
    expect(() => checkEnvelope({ error })).toThrow();
    expect(() => parseFleet({ model: 'm', engines: [], servings: {} }, { env: ENV })).toThrow(/servings/);
    const row = { terminal: 'failed', reason: 'model' };
    expect(() => checkRow(row, row)).toThrow();
  });
});
