/** What runs or waits now: in order, and left in any order. */
import { Roster } from '../../lib/roster';

describe('a roster', () => {
  const filled = (...names: string[]) => {
    const roster = new Roster<string>();
    const places = names.map((name) => roster.add(name));
    return { roster, places };
  };

  it('is walked in the order of arrival', () => {
    const { roster } = filled('a', 'b', 'c');
    expect([...roster]).toEqual(['a', 'b', 'c']);
    expect(roster.size).toBe(3);
    expect([roster.first?.value, roster.last?.value]).toEqual(['a', 'c']);
  });

  it.each([
    [[0], ['b', 'c']],
    [[1], ['a', 'c']],
    [[2], ['a', 'b']],
    [[0, 1], ['c']],
    [[2, 1], ['a']],
    [[1, 0, 2], []],
  ])('is left by %p', (leaving, left) => {
    const { roster, places } = filled('a', 'b', 'c');
    for (const at of leaving) expect(roster.remove(places[at]!)).toBe(true);
    expect([...roster]).toEqual(left);
    expect(roster.size).toBe(left.length);
    expect([roster.first?.value, roster.last?.value]).toEqual([left[0], left.at(-1)]);
    roster.add('d');
    expect([...roster]).toEqual([...left, 'd']);
  });

  it('is left once', () => {
    const { roster, places } = filled('a', 'b');
    expect(roster.remove(places[0]!)).toBe(true);
    expect(roster.remove(places[0]!)).toBe(false);
    expect([...roster]).toEqual(['b']);
  });

  it('knows its own places', () => {
    const one = filled('a');
    const other = filled('a');
    expect(one.roster.remove(other.places[0]!)).toBe(false);
    expect(one.roster.remove({ value: 'a' })).toBe(false);
    expect([one.roster.size, other.roster.size]).toEqual([1, 1]);
  });

  it('passes over what leaves during a walk', () => {
    const { roster, places } = filled('a', 'b', 'c');
    const seen: string[] = [];
    for (const name of roster) {
      seen.push(name);
      if (name === 'a') for (const place of places) roster.remove(place);
    }
    expect(seen).toEqual(['a']);
    expect(roster.size).toBe(0);
  });

  it('does not reach what comes during a walk', () => {
    const { roster } = filled('a');
    for (const name of roster) roster.add(`${name}+`);
    expect([...roster]).toEqual(['a', 'a+']);
  });
});
