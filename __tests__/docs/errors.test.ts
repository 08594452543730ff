/** docs/errors.md against the table of outcomes, both ways. */
import { OUTCOMES, type OutcomeRow, REASONS } from '../../lib/outcomes';
import { bare, readPage, sections, tableRows } from './markdown';

const page = readPage('docs/errors.md');
const rows = tableRows(sections(page, 2).get('The table') ?? '');
const outcomes: readonly (readonly [string, OutcomeRow])[] = Object.entries(OUTCOMES);

describe('docs/errors.md', () => {
  test('has one row for each outcome, in the order of the code', () => {
    expect(rows.map(([name = '']) => bare(name))).toEqual(outcomes.map(([name]) => name));
  });

  test.each(outcomes)('says of %s what the code says', (name, outcome) => {
    const row = rows.find(([cell = '']) => bare(cell) === name);
    const [, status, type, code, terminal, reason, retryAfter] = (row ?? []).map(bare);
    expect({ status, type, code, terminal, reason, retryAfter }).toEqual({
      status: String(outcome.status),
      type: outcome.type,
      code: outcome.code ?? 'null',
      terminal: outcome.terminal,
      reason: outcome.reason,
      retryAfter: outcome.retryAfter ? 'yes' : 'no',
    });
  });

  test('says for each outcome who can do what', () => {
    for (const [name = '', , , , , , , advice = ''] of rows) {
      expect(`${name} ${advice}`).toMatch(/^`\w+` (Client|Operator): \S.*[.?]$/);
    }
  });

  test('names every reason word', () => {
    for (const reason of REASONS.keys()) expect(page).toContain(`\`${reason}\``);
  });
});
