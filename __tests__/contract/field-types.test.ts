/** The table of field types of the request contract: right types, wrong types, null; raw and parsed bodies. */
import express5, { type RequestHandler } from 'express';
import { narwhalRouter } from '../../lib/index';
import { bodyFor, CHAT, COMPLETIONS, call, envelopeOf } from '../helpers/call';
import { type Gateway, startGateway } from '../helpers/create-app';

/** JSON text of one value, as the client writes it. */
type Text = string;

interface FieldRow {
  readonly field: string;
  readonly words: string;
  /** Pass this step, and every later one. */
  readonly right: readonly Text[];
  readonly wrong: readonly Text[];
}

const NO_INTEGER = ['true', 'false', '"1"', '1.5', '-0.1', '[]', '[1]', '{}', '""'];
const ONE = ['1', '1.0', '1e0', '10e-1'];
const LIMIT = ['1', '16', '16.0', '1.6e1'];
const NO_STRING = ['1', '0', 'true', 'false', '[]', '["example/model"]', '{}'];

const ROWS: readonly FieldRow[] = [
  { field: 'model', words: 'a string', right: ['"example/model"'], wrong: NO_STRING },
  {
    field: 'stream',
    words: 'a boolean',
    right: ['true', 'false'],
    wrong: ['1', '0', '"true"', '"false"', '""', '[]', '{}'],
  },
  { field: 'n', words: 'an integer', right: ONE, wrong: NO_INTEGER },
  { field: 'best_of', words: 'an integer', right: ONE, wrong: NO_INTEGER },
  { field: 'max_tokens', words: 'an integer', right: LIMIT, wrong: NO_INTEGER },
  { field: 'max_completion_tokens', words: 'an integer', right: LIMIT, wrong: NO_INTEGER },
  {
    field: 'prompt',
    words: 'a string or an array',
    right: ['"hi"', '[1,15043,29871]', '["hi"]'],
    wrong: ['1', 'true', 'false', '{}', '1.5'],
  },
  {
    field: 'messages',
    words: 'an array',
    right: ['[{"role":"user","content":"hi"}]'],
    wrong: ['"hi"', '1', 'true', 'false', '{}', '{"0":{}}'],
  },
];

const RAW: RequestHandler = (_req, _res, next) => next();
const READERS: readonly (readonly [string, RequestHandler])[] = [
  ['read by us', RAW],
  ['parsed by express.json()', express5.json()],
  ['parsed, with its bytes kept', express5.json({ verify: narwhalRouter.rawBody })],
];

/** A good body for the route with one member set to this text; the member stands first. */
function withMember(path: string, field: string, text: Text): string {
  const body = bodyFor(path);
  delete body[field];
  return `{"${field}":${text},${JSON.stringify(body).slice(1)}`;
}

describe.each(READERS)('a body %s', (_words, reader) => {
  describe.each([CHAT, COMPLETIONS])('on %s', (path) => {
    let gateway: Gateway;

    beforeEach(async () => {
      gateway = await startGateway({ before: [reader] });
    });

    it.each(ROWS)('may have $field of the right types', async ({ field, right }) => {
      for (const text of right) {
        const reply = await call(gateway.url + path, { body: withMember(path, field, text) });
        expect([text, reply.status, reply.status === 200 ? '' : reply.text]).toEqual([text, 200, '']);
      }
      expect(gateway.fleet.calls).toHaveLength(2 * right.length);
    });

    it.each(ROWS)('is refused with the exact words for a wrong $field', async ({ field, words, wrong }) => {
      for (const text of wrong) {
        const reply = await call(gateway.url + path, { body: withMember(path, field, text) });
        expect([text, reply.status]).toEqual([text, 400]);
        expect(envelopeOf(reply)).toEqual({
          message: `${field} must be ${words}`,
          type: 'invalid_request_error',
          param: field,
          code: null,
        });
        expect(reply.headers['x-narwhal-reason']).toBe('field_type');
      }
      expect(gateway.fleet.calls).toEqual([]);
      const rows = await gateway.allRows();
      expect(rows).toHaveLength(wrong.length);
      for (const row of rows) {
        expect(row).toMatchObject({ status: 400, terminal: 'invalid', reason: 'field_type', attempts: 0 });
      }
    });

    it('counts null as absent in every field', async () => {
      const needed = path === CHAT ? 'messages' : 'prompt';
      for (const { field } of ROWS.filter((row) => row.field !== needed)) {
        const reply = await call(gateway.url + path, { body: withMember(path, field, 'null') });
        expect([field, reply.status]).toEqual([field, 200]);
      }
      const missing = await call(gateway.url + path, { body: withMember(path, needed, 'null') });
      expect(envelopeOf(missing)).toMatchObject({ message: `${needed} is required`, param: needed });
    });

    it.each(['[null]', '["hi"]', '[[]]', '[1]', '[{"role":"user","content":"a"},true]'])(
      'is refused where messages holds other things than objects: %s',
      async (text) => {
        const reply = await call(gateway.url + path, { body: withMember(path, 'messages', text) });
        expect(reply.status).toBe(400);
        expect(envelopeOf(reply)).toEqual({
          message: 'every item in messages must be an object',
          type: 'invalid_request_error',
          param: 'messages',
          code: null,
        });
        expect(gateway.fleet.calls).toEqual([]);
      },
    );

    it('has no other field checked', async () => {
      const odd = { temperature: '0.5', top_p: 'x', seed: -1, stop: 'end', user: 5, metadata: { n: 'x' } };
      const reply = await call(gateway.url + path, { body: bodyFor(path, odd) });
      expect(reply.status).toBe(200);
      for (const { json } of gateway.fleet.calls) {
        expect(json).toMatchObject({ temperature: '0.5', seed: -1, user: 5, metadata: { n: 'x' } });
      }
    });
  });
});
