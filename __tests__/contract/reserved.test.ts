/** Control fields are the router's: a client's value never reaches an engine. */
import express5, { type RequestHandler } from 'express';
import { bodyFor, CHAT, COMPLETIONS, call, envelopeOf } from '../helpers/call';
import { type Gateway, startGateway } from '../helpers/create-app';

const DROPPED = [
  'ec_transfer_params',
  'request_id',
  'rid',
  'bootstrap_host',
  'bootstrap_port',
  'bootstrap_room',
];
const VALUES = [
  '{"do_remote_prefill":true,"remote_host":"192.0.2.7","remote_port":9}',
  '"CANARY"',
  'null',
  '5',
];

const RAW: RequestHandler = (_req, _res, next) => next();

describe.each<[string, RequestHandler]>([
  ['read by us', RAW],
  ['parsed by the host', express5.json()],
])('a body %s', (_words, reader) => {
  let gateway: Gateway;

  beforeEach(async () => {
    gateway = await startGateway({ before: [reader] });
  });

  describe.each([CHAT, COMPLETIONS])('on %s', (path) => {
    const text = JSON.stringify(bodyFor(path));

    it.each(DROPPED)('loses %s on both legs, whatever its value and place', async (field) => {
      for (const value of VALUES) {
        gateway.fleet.reset();
        const bodies = [
          `{"${field}":${value},${text.slice(1)}`,
          `${text.slice(0, -1)}, "${field}" : ${value} }`,
          `{"${field.replace('_', '\\u005f')}":${value},${text.slice(1)}`,
        ];
        for (const body of bodies) expect((await call(gateway.url + path, { body })).status).toBe(200);
        expect(gateway.fleet.calls).toHaveLength(6);
        for (const { json, body } of gateway.fleet.calls) {
          expect(Object.keys(json ?? {})).not.toContain(field);
          expect(body.toString()).not.toMatch(/CANARY|192\.0\.2\.7/);
        }
        gateway.fleet.assertNoBreaches();
      }
    });

    it("has its kv_transfer_params replaced by the router's on both legs", async () => {
      for (const value of VALUES) {
        gateway.fleet.reset();
        const body = `{"kv_transfer_params":${value},${text.slice(1)}`;
        expect((await call(gateway.url + path, { body })).status).toBe(200);
        const [prefill, decode] = gateway.fleet.calls;
        expect(prefill?.json?.['kv_transfer_params']).toEqual({ do_remote_decode: true });
        expect(decode?.json?.['kv_transfer_params']).toEqual(JSON.parse(prefill?.handoff ?? ''));
        for (const call of gateway.fleet.calls) {
          expect(call.body.toString().match(/"kv_transfer_params"/g)).toHaveLength(1);
          expect(call.body.toString()).not.toMatch(/CANARY|192\.0\.2\.7/);
        }
        gateway.fleet.assertNoBreaches();
      }
    });

    it('keeps a field of the same name that stands deeper', async () => {
      const body = bodyFor(path, { metadata: { request_id: 'kept', kv_transfer_params: { a: 1 } } });
      expect((await call(gateway.url + path, { body })).status).toBe(200);
      for (const { json } of gateway.fleet.calls) expect(json?.['metadata']).toEqual(body['metadata']);
    });

    it.each(['kv_transfer_params', 'ec_transfer_params', 'kv_cache_report_mode'])(
      'is refused where vllm_xargs holds %s, whatever its value',
      async (key) => {
        for (const value of [null, 1, { a: 1 }, 'x']) {
          const body = bodyFor(path, { vllm_xargs: { other: 1, [key]: value } });
          const reply = await call(gateway.url + path, { body });
          expect(reply.status).toBe(400);
          expect(envelopeOf(reply)).toEqual({
            message: `vllm_xargs must not set ${key}`,
            type: 'invalid_request_error',
            param: 'vllm_xargs',
            code: null,
          });
          expect(reply.headers['x-narwhal-reason']).toBe('reserved_field');
        }
        expect(gateway.fleet.calls).toEqual([]);
        expect(await gateway.allRows()).toMatchObject(
          Array(4).fill({ status: 400, terminal: 'invalid', reason: 'reserved_field' }),
        );
      },
    );

    it('passes other vllm_xargs on to both legs', async () => {
      for (const vllm_xargs of [{ other: 'x' }, {}, null]) {
        gateway.fleet.reset();
        expect((await call(gateway.url + path, { body: bodyFor(path, { vllm_xargs }) })).status).toBe(200);
        for (const { json } of gateway.fleet.calls) expect(json?.['vllm_xargs']).toEqual(vllm_xargs);
      }
    });
  });

  it('gives every request backend ids of its own, also where clients send the same id', async () => {
    const body = bodyFor(CHAT, { request_id: 'same', rid: 'same' });
    const headers = { 'x-request-id': 'same' };
    await Promise.all([1, 2, 3].map(() => call(gateway.url + CHAT, { body, headers })));
    const ids = gateway.fleet.calls.map(({ requestId }) => requestId);
    expect(ids).toHaveLength(6);
    expect(new Set(ids).size).toBe(6);
    for (const id of ids) expect(id).toMatch(/^[\w-]{10,}-a1-(prefill|decode)$/);
    const rows = await gateway.allRows();
    expect(rows.map(({ client_rid }) => client_rid)).toEqual(['same', 'same', 'same']);
  });
});

describe('the model towards engines', () => {
  it.each(['{"model":"example/model",', '{"model":null,', '{', '{"model":"example\\/model",'])(
    'is always the configured one: a body that begins %s',
    async (begin) => {
      const gateway = await startGateway();
      const body = `${begin}"messages":[{"role":"user","content":"hi"}]}`;
      expect((await call(gateway.url + CHAT, { body })).status).toBe(200);
      for (const { json, body: sent } of gateway.fleet.calls) {
        expect(json?.['model']).toBe('example/model');
        expect(sent.toString().match(/"model"/g)).toHaveLength(1);
      }
    },
  );

  it('is not taken from a guard that lets other names in', async () => {
    const gateway = await startGateway({ router: { modelGuard: { models: ['alias', 'example/model'] } } });
    const reply = await call(gateway.url + CHAT, { body: bodyFor(CHAT, { model: 'alias' }) });
    expect(reply.status).toBe(200);
    expect(gateway.fleet.calls.map(({ json }) => json?.['model'])).toEqual([
      'example/model',
      'example/model',
    ]);
  });
});
