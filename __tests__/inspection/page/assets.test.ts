/** The parts of the page: small, plain, safe, and complete against the words of the library. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { REASONS } from '../../../lib/outcomes';

const FOLDER = join(__dirname, '../../../lib/inspection/page/assets');
const PARTS = readdirSync(FOLDER).map((name) => ({ name, text: readFileSync(join(FOLDER, name), 'utf8') }));

describe('the parts of the page', () => {
  it.each(PARTS)('$name is ASCII and below 300 lines', ({ text }) => {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII is meant
    expect(text.match(/[^\x00-\x7f]/g)).toBeNull();
    expect(text.split('\n').length).toBeLessThan(300);
  });

  it.each(PARTS.filter(({ name }) => name.endsWith('.js')))(
    '$name never makes markup of data',
    ({ text }) => {
      expect(text).not.toMatch(
        /innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|srcdoc/,
      );
      // It stands between script tags.
      expect(text).not.toMatch(/<\/script|<!--/i);
    },
  );

  it('have words for every reason, and for no other', () => {
    const { text } = PARTS.find(({ name }) => name === 'reasons.js')!;
    const explained = [...text.matchAll(/^ {2}(\w+): ['"]/gm)].map((match) => match[1]!);
    expect(explained.sort()).toEqual([...REASONS.keys()].sort());
  });
});
