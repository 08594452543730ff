/** Stub engines without a gateway in front. */
import { type StubFleet, type StubFleetOptions, startStubFleet } from '../../lib/testing/index';
import { closeLater } from './close-all';

/** Starts stub engines; after the test they are closed, and breaches of the wire fail it. */
export async function openStubFleet(options?: StubFleetOptions): Promise<StubFleet> {
  const fleet = closeLater(await startStubFleet(options));
  closeLater({ close: () => fleet.assertNoBreaches() });
  return fleet;
}
