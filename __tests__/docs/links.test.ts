/** Every relative link of the README and the docs leads somewhere. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { anchors, links, PAGES, ROOT, readPage } from './markdown';

/** What is wrong with a link, or null. */
function problem(page: string, link: string): string | null {
  const [path = '', anchor] = link.split('#');
  const target = path === '' ? page : join(dirname(page), path);
  const full = join(ROOT, target);
  if (target.startsWith('..') || !existsSync(full)) return `${link}: there is no ${target}`;
  if (anchor === undefined || statSync(full).isDirectory()) return null;
  return anchors(readFileSync(full, 'utf8')).includes(anchor) ? null : `${link}: no heading gives #${anchor}`;
}

describe('the docs', () => {
  test.each(PAGES)('%s has relative links that all resolve', (page) => {
    const relative = links(readPage(page)).filter((link) => !/^[a-z]+:/.test(link));
    expect(relative.map((link) => problem(page, link)).filter((text) => text !== null)).toEqual([]);
  });

  test.each(PAGES)('%s is plain ASCII', (page) => {
    const strange = readPage(page).split('\n');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: it is the range that is meant
    expect(strange.filter((line) => /[^\x00-\x7f]/.test(line))).toEqual([]);
  });

  test('are all reachable from the index in docs/README.md and from README.md', () => {
    const indexed = links(readPage('docs/README.md')).map((link) => join('docs', link));
    const front = links(readPage('README.md'));
    for (const page of PAGES.filter((name) => !name.endsWith('README.md'))) {
      expect(indexed).toContain(page);
      expect(front).toContain(page);
    }
  });

  test('keep the README short', () => {
    expect(readPage('README.md').split('\n').length).toBeLessThan(150);
  });
});
