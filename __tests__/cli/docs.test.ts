/** docs/cli.md and docs/engines.md show what the command really prints. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkCommand } from '../../lib/cli/check/command';
import { commandHelp } from '../../lib/cli/command';
import { demoCommand } from '../../lib/cli/demo-command';
import { journalCommand } from '../../lib/cli/journal/command';
import { serveCommand } from '../../lib/cli/serve/command';
import { codeBlocks, readPage, sections } from '../docs/markdown';
import { openStubFleet } from '../helpers/open-stub-fleet';
import { runNarwhal, tempFolder } from './narwhal';

describe('docs/cli.md', () => {
  const page = sections(readPage('docs/cli.md'), 2);

  test.each([serveCommand, checkCommand, journalCommand, demoCommand])(
    'shows the help of $name',
    (command) => {
      const [block] = codeBlocks(page.get(command.name) ?? '');
      expect(block?.text.trimEnd()).toBe(commandHelp(command));
    },
  );
});

describe('docs/engines.md', () => {
  /** Without what differs from run to run. */
  const settled = (text: string): string =>
    text
      .replace(/http:\/\/\S+/g, 'URL')
      .replace(/claimed +ms/, 'claimed ms')
      .replace(/^(p\d -> d\d .*ok) +\d+$/gm, '$1 N')
      .trimEnd();

  test('shows the table that narwhal check prints for two prefill and two decode engines', async () => {
    const fleet = await openStubFleet({ prefill: 2, decode: 2 });
    const cwd = tempFolder();
    writeFileSync(join(cwd, 'fleet.json'), JSON.stringify(fleet.fleetFile()));
    const { stdout } = await runNarwhal(['check', '--fleet', 'fleet.json'], { cwd });
    const shown = codeBlocks(readPage('docs/engines.md')).find(({ text }) => text.startsWith('fleet.json: '));
    expect(settled(stdout)).toBe(settled(shown?.text ?? ''));
  });
});
