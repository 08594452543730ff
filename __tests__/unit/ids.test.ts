/** Ids that stand on command lines, in headers and in file names. */
import { newId } from '../../lib/ids';

describe('an id', () => {
  const ids = Array.from({ length: 5000 }, newId);

  it('is 21 letters and digits, so that no command takes it for a flag', () => {
    expect(ids.filter((id) => !/^[A-Za-z0-9]{21}$/.test(id))).toEqual([]);
  });

  it('never comes twice', () => {
    expect(new Set(ids).size).toBe(ids.length);
  });
});
