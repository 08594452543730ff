import { type StubScript, startStubFleet } from '../../lib/testing';

describe('startStubFleet', () => {
  it.each([
    [{ prefil: 1 }, /unknown prefil \(did you mean prefill\?\); known are prefill/],
    [{ decode: 'x' }, /decode must be a whole number/],
    [{ both: -1 }, /both must be a whole number/],
  ])('refuses the options %j', async (options, message) => {
    await expect(startStubFleet(options as object)).rejects.toThrow(message);
  });

  it('refuses a misspelt script, with which a test would pass without its failure', async () => {
    const fleet = await startStubFleet();
    expect(() => {
      fleet.script = { statu: 500 } as StubScript;
    }).toThrow(/unknown statu/);
    expect(() => {
      fleet.engine('d0').script = { leg: 'decod', status: 500 } as unknown as StubScript;
    }).toThrow(/leg must be one of prefill, decode/);
    await fleet.close();
  });
});
