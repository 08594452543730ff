/** One-token probes against engines that answer whatever the test says. */
import { parseFleet } from '../../lib/config/fleet-file';
import { nixl } from '../../lib/engines/connectors/nixl';
import { Engine } from '../../lib/engines/engine';
import { HandoffLedger } from '../../lib/engines/ledger';
import { type Probing, probeHealth, probeInference } from '../../lib/engines/probe';
import { type EngineCall, type Transport, TransportError } from '../../lib/engines/transport';

interface Answer {
  readonly status: number;
  readonly body?: string;
  /** It failed before it was on a socket: nothing listens there. */
  readonly refused?: boolean;
}

/** An engine's part in a probe, by its name and the kind of the leg. */
type Answers = Readonly<Record<string, Answer>>;

const HANDOFF = '{"kv_transfer_params":{"remote_block_ids":[[1]]}}';
const GOOD: Answers = {
  'p0-prefill': { status: 200, body: HANDOFF },
  'd0-decode': { status: 200, body: 'data: {"choices":[]}\n\n' },
  'd1-reclaim': { status: 200 },
};

/** Two decode engines and a prefill engine, and one that does both. */
function fleetOf(answers: Answers, partners: readonly string[], apiKey: string | null = null) {
  const config = parseFleet(
    {
      model: 'm',
      engine: apiKey === null ? {} : { engine_api_key_env: 'KEY' },
      engines: [
        { iid: 'p0', url: 'http://p0:1', role: 'prefill' },
        { iid: 'd0', url: 'http://d0:1', role: 'decode' },
        { iid: 'd1', url: 'http://d1:1', role: 'decode' },
      ],
    },
    { env: { KEY: apiKey ?? '' } },
  );
  const engines = config.engines.map((engine) => new Engine(engine));
  const calls: string[] = [];
  const heads: EngineCall['headers'][] = [];
  const transport: Transport = {
    send(call, sink) {
      const kind = call.headers['x-request-id']?.split('-').at(-1) ?? 'health';
      const name = `${call.engine.iid}-${kind}`;
      calls.push(name);
      heads.push(call.headers);
      const { status, body = '', refused = false } = answers[name] ?? { status: 500 };
      setImmediate(() => {
        if (refused) {
          sink.fail(new TransportError('unreachable', 'ECONNREFUSED'));
          return;
        }
        sink.sent();
        sink.head(status, { get: () => null, all: () => ({}) });
        sink.data(Buffer.from(body));
        sink.end();
      });
      return { pause() {}, resume() {}, cut() {} };
    },
    close: () => Promise.resolve(),
  };
  const ledger = new HandoffLedger(engines);
  const engine = (iid: string): Engine => engines.find((one) => one.iid === iid)!;
  const left = [...partners];
  const probing: Probing = {
    config,
    transport,
    connector: nixl,
    ledger,
    partner(role) {
      const at = left.findIndex((iid) => engine(iid).config.role === role);
      return at === -1 ? null : engine(left.splice(at, 1)[0]!);
    },
  };
  return { probing, engine, calls, heads, ledger };
}

async function probed(iid: string, answers: Answers, partners: readonly string[]) {
  const { probing, engine, calls, ledger } = fleetOf(answers, partners);
  const isWell = await probeInference(probing, engine(iid));
  const { held, claimed, reclaimed, leased } = ledger.counts();
  return { isWell, calls, handoffs: { held, claimed, reclaimed, leased } };
}

const GOOD_CALLS = ['p0-prefill', 'd0-decode'];
const NONE = { held: 0, claimed: 0, reclaimed: 0, leased: 0 };

describe('a one-token probe', () => {
  it.each([
    ['p0', ['d0']],
    ['d0', ['p0']],
  ])('of %s goes through both legs, and its handoff is taken', async (iid, partners) => {
    expect(await probed(iid, GOOD, partners)).toEqual({
      isWell: true,
      calls: GOOD_CALLS,
      handoffs: { ...NONE, claimed: 1 },
    });
  });

  it('of a prefill engine makes no handoff where nobody could take it', async () => {
    const answers = { 'p0-single': { status: 200 } };
    expect(await probed('p0', answers, [])).toEqual({ isWell: true, calls: ['p0-single'], handoffs: NONE });
    expect((await probed('p0', {}, [])).isWell).toBe(false);
  });

  it('of a decode engine says nothing against it where no prefill engine lives', async () => {
    expect(await probed('d0', {}, [])).toEqual({ isWell: true, calls: [], handoffs: NONE });
  });

  it.each([
    ['a refusal', { status: 500 }],
    ['no JSON', { status: 200, body: '<html>' }],
    ['JSON that is no object', { status: 200, body: 'null' }],
    ['a list', { status: 200, body: '[]' }],
    ['no handoff', { status: 200, body: '{"kv_transfer_params":null}' }],
    ['a refused connection', { status: 0, refused: true }],
  ])('with %s for a prefill answer tells against the prefill engine alone', async (_words, answer) => {
    const answers = { ...GOOD, 'p0-prefill': answer };
    const ofPrefill = await probed('p0', answers, ['d0']);
    const ofDecode = await probed('d0', answers, ['p0']);
    expect([ofPrefill.isWell, ofDecode.isWell]).toEqual([false, true]);
    expect(ofPrefill).toMatchObject({ calls: ['p0-prefill'], handoffs: NONE });
  });

  it('with an error frame in its stream tells against the decode engine alone', async () => {
    const answers = { ...GOOD, 'd0-decode': { status: 200, body: 'data: {"error":{"code":500}}\n\n' } };
    expect(await probed('d0', answers, ['p0'])).toMatchObject({ isWell: false, calls: GOOD_CALLS });
    expect(await probed('p0', answers, ['d0'])).toMatchObject({ isWell: true, calls: GOOD_CALLS });
  });

  it.each([
    ['refuses', { status: 503 }],
    ['is not there', { status: 0, refused: true }],
  ])('whose consumer %s has another let the handoff go', async (_words, answer) => {
    const found = await probed('d0', { ...GOOD, 'd0-decode': answer }, ['p0', 'd1']);
    expect(found).toEqual({
      isWell: false,
      calls: [...GOOD_CALLS, 'd1-reclaim'],
      handoffs: { ...NONE, reclaimed: 1 },
    });
  });

  it.each([
    ['is none', ['p0']],
    ['is the same one', ['p0', 'd0']],
    ['refuses too', ['p0', 'd1']],
  ])('leaves the handoff to its lease where the other %s', async (_words, partners) => {
    const answers = { ...GOOD, 'd0-decode': { status: 503 }, 'd1-reclaim': { status: 503 } };
    const { isWell, handoffs } = await probed('d0', answers, partners);
    expect({ isWell, handoffs }).toEqual({ isWell: false, handoffs: { ...NONE, leased: 1 } });
  });

  it('says the key of the engines, where they have one', async () => {
    const { probing, engine, heads } = fleetOf(GOOD, ['d0'], 'engine-key');
    await probeInference(probing, engine('p0'));
    await probeHealth(probing, engine('p0'));
    expect(heads.map(({ authorization }) => authorization)).toEqual(Array(3).fill('Bearer engine-key'));
  });
});

describe('a look at /health', () => {
  it.each([
    [{ status: 200 }, { ok: true, refused: false }],
    [{ status: 404 }, { ok: false, refused: false }],
    [{ status: 503 }, { ok: false, refused: false }],
    [
      { status: 0, refused: true },
      { ok: false, refused: true },
    ],
  ])('with the answer %j is %j', async (answer, verdict) => {
    const { probing, engine } = fleetOf({ 'p0-health': answer }, []);
    expect(await probeHealth(probing, engine('p0'))).toEqual(verdict);
  });
});
