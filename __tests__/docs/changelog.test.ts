/** CHANGELOG.md keeps the form of Keep a Changelog, so that a person and `.ci/release` can read it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, readPage, sections } from './markdown';

const KINDS = ['Added', 'Changed', 'Deprecated', 'Removed', 'Fixed', 'Security'];

/** What is wrong with the form of a changelog; empty for a good one. */
function faults(text: string, version: string): string[] {
  const wrong: string[] = [];
  const parts = sections(text, 2);
  const heads = [...parts.keys()];
  if (heads[0] !== '[Unreleased]') wrong.push('the first section is not [Unreleased]');
  const released = heads.slice(1).map((head) => ({
    head,
    match: /^\[(\d+\.\d+\.\d+)\] - (\d{4}-\d{2}-\d{2})$/.exec(head),
  }));
  for (const { head, match } of released) {
    if (match === null) wrong.push(`${head}: not [version] - date`);
    else if (new Date(match[2]!).toJSON()?.slice(0, 10) !== match[2]) wrong.push(`${head}: no such day`);
    if (!/^- /m.test(parts.get(head) ?? '')) wrong.push(`${head}: says nothing`);
  }
  const known = released.flatMap(({ match }) => (match === null ? [] : [match[1]!]));
  if (!known.includes(version)) wrong.push(`no section of the version of package.json, ${version}`);
  const days = released.map(({ match }) => match?.[2] ?? '');
  if (days.join() !== [...days].sort().reverse().join()) wrong.push('the newest version is not the first');
  for (const [head, part] of parts) {
    const kinds = [...sections(part, 3).keys()];
    const order = kinds.map((kind) => KINDS.indexOf(kind));
    if (order.includes(-1)) wrong.push(`${head}: a heading that is none of ${KINDS.join(', ')}`);
    if (order.join() !== [...new Set(order)].sort((a, b) => a - b).join())
      wrong.push(`${head}: out of order`);
    if (part.slice(0, part.indexOf('### ')).includes('\n- ')) wrong.push(`${head}: a line of no kind`);
  }
  const long = text.split('\n').filter((line) => line.length > 120);
  return [...wrong, ...long.map((line) => `longer than 120 characters: ${line}`)];
}

const GOOD = `# Changelog

## [Unreleased]

### Fixed

- A fault.

## [1.1.0] - 2026-02-28

### Added

- B.

### Fixed

- C.

## [1.0.0] - 2026-01-01

### Added

- A.
`;

describe('CHANGELOG.md', () => {
  test('has the form that its readers and .ci/release rely on', () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
    expect(faults(readPage('CHANGELOG.md'), version)).toEqual([]);
  });
});

describe('the check of that form', () => {
  test('passes a good changelog', () => {
    expect(faults(GOOD, '1.1.0')).toEqual([]);
  });

  test.each([
    ['## [Unreleased]', '## Unreleased', 'the first section is not [Unreleased]'],
    ['## [1.1.0] - 2026-02-28', '## [1.1.0]', '[1.1.0]: not [version] - date'],
    ['2026-02-28', '2026-02-30', '[1.1.0] - 2026-02-30: no such day'],
    ['2026-02-28', '2025-02-28', 'the newest version is not the first'],
    ['- A.', 'A.', '[1.0.0] - 2026-01-01: says nothing'],
    ['### Added\n\n- B.', '### New\n\n- B.', '[1.1.0] - 2026-02-28: a heading that is none of'],
    ['### Added\n\n- B.', '### Security\n\n- B.', '[1.1.0] - 2026-02-28: out of order'],
    ['### Fixed\n\n- A fault.', '- A fault.', '[Unreleased]: a line of no kind'],
    ['- C.', `- ${'C'.repeat(120)}`, 'longer than 120 characters'],
    ['[1.1.0]', '[1.2.0]', 'no section of the version of package.json, 1.1.0'],
  ])('finds %j written as %j', (right, wrong, fault) => {
    expect(faults(GOOD.replace(right, wrong), '1.1.0')).toContainEqual(expect.stringContaining(fault));
  });
});
