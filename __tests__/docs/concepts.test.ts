/** docs/concepts.md and its picture use the words of the code. */
import { parseFleet } from '../../lib/config/fleet-file';
import { FLEET_SCHEMA } from '../../lib/config/fleet-schema';
import { HandoffTally } from '../../lib/engines/handoff-tally';
import { OUTCOMES } from '../../lib/outcomes';
import { bare, readPage, sections, tableRows } from './markdown';

const page = readPage('docs/concepts.md');
const picture = readPage('docs/concepts.svg');
const states = Object.keys(new HandoffTally().counts()).filter((name) => name !== 'produced');

describe('docs/concepts.md', () => {
  test('has the roles of the fleet file, and no other', () => {
    const rows = tableRows(sections(page, 2).get('The fleet') ?? '').map(([role = '']) => bare(role));
    for (const role of rows) {
      const engines = ['prefill', 'decode', role].map((name, at) => ({
        iid: `e${at}`,
        url: 'http://10.0.0.1:8000',
        role: name,
      }));
      expect(parseFleet({ model: 'm', engines }).engines[2]?.role).toBe(role);
    }
    const schema = JSON.stringify(FLEET_SCHEMA);
    expect(schema).toContain(`"enum":${JSON.stringify(rows)}`);
  });

  test('has the states that the ledger counts, beside the steps on the way', () => {
    const rows = tableRows(sections(page, 2).get('Who owns the KV cache when') ?? '').map(
      ([state = '']) => state,
    );
    expect(rows.filter((state) => state.startsWith('`')).map(bare)).toEqual(states);
    expect(rows.filter((state) => !state.startsWith('`'))).toEqual(['_dispatched_', '_stranded_']);
  });

  test('has every terminal', () => {
    const terminals = [...Object.values(OUTCOMES).map(({ terminal }) => terminal), 'completed', 'cancelled'];
    const section = sections(page, 2).get('How a request ends') ?? '';
    for (const terminal of terminals) expect(section).toContain(`\`${terminal}\``);
  });
});

describe('docs/concepts.svg', () => {
  test('shows each state in words, and tells all of it to those who do not see it', () => {
    const told = /<desc[^>]*>([^<]*)<\/desc>/.exec(picture)?.[1] ?? '';
    for (const state of [...states, 'dispatched', 'stranded']) {
      expect(picture).toMatch(new RegExp(`<text class="state"[^>]*>${state}</text>`));
      expect(told).toContain(state);
    }
    expect(picture).toMatch(/role="img" aria-labelledby="title desc"/);
    expect(picture).toMatch(/<title id="title">[^<]+</);
  });

  test('asks for nothing from elsewhere, and has colours for a dark page', () => {
    expect(picture.replace('http://www.w3.org/2000/svg', '')).not.toMatch(/https?:|<script|@import|href/);
    expect(picture).toContain('@media (prefers-color-scheme: dark)');
  });
});
