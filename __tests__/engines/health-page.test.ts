/** What an answer of `/health` says of an engine. */
import { parseFleet } from '../../lib/config/fleet-file';
import { nixl } from '../../lib/engines/connectors/nixl';
import { Engine } from '../../lib/engines/engine';
import { HandoffLedger } from '../../lib/engines/ledger';
import { EnginePools } from '../../lib/engines/pools';
import { probeHealth } from '../../lib/engines/probe';
import { closeLater } from '../helpers/close-all';
import { openStubFleet } from '../helpers/open-stub-fleet';

async function healthOf(iid: 'p0' | 'd0' | 'b0', status: number) {
  const fleet = await openStubFleet({ both: 1 });
  fleet.script = { leg: 'health', status };
  const config = parseFleet(fleet.fleetFile());
  const engine = new Engine(config.engines.find((one) => one.iid === iid)!);
  const transport = closeLater(
    new EnginePools({ connectTimeoutS: 5, keepaliveS: 4, maxSocketAgeS: 60, sockets: null }),
  );
  const ledger = new HandoffLedger([engine]);
  return probeHealth({ config, transport, connector: nixl, ledger, partner: () => null }, engine);
}

describe('an engine that works alone', () => {
  test('lives without a health page: servers of other kinds have none', async () => {
    expect(await healthOf('b0', 404)).toEqual({ ok: true, refused: false });
  });

  test.each([500, 503])('is not well when it answers %d', async (status) => {
    expect(await healthOf('b0', status)).toEqual({ ok: false, refused: false });
  });
});

test.each(['p0', 'd0'] as const)('%s, an engine of a split fleet, must have the page', async (iid) => {
  expect(await healthOf(iid, 404)).toEqual({ ok: false, refused: false });
});
